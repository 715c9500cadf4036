"""Invariant 6: every change has its signed entry, and the chain holds."""

import hashlib
from collections.abc import Iterator
from typing import Final
from uuid import UUID

from audit.evidence import is_genuine
from audit.keys import trusted_keys
from audit.models import Entry
from kernel.scope import tenant_transaction
from tests.machine.judgement import Case
from tests.machine.sight import Row, Sight, find
from tests.machine.world import bystanders

DOMAIN: Final = b"keyturn/audit/v1\0"
RECORDED: Final = {
    # what → the entry that says it, by the status that it came to
    "run": lambda to: {"run.started"} if to == "running" else set(),
    "grant": lambda to: {"grant.issued" if to == "live" else f"grant.{to}"},
    "effect": lambda to: {f"effect.{to}"},
}
# A request's status follows from what is recorded of its grant or decision.
FOLLOWS: Final = {
    "approved": {"grant.issued"},
    "consumed": {"grant.consumed"},
    "changes_requested": {"decision.recorded"},
    "pending": {"request.asked", "request.revised"},
    "rejected": {"request.rejected", "decision.recorded"},
}


def the_chain_continues(case: Case) -> Iterator[str]:
    """Hashes alone; signatures are checked at the end of an episode."""
    seq, prev = _end(case.before)
    for entry in case.after.entries:
        seq += 1
        statement = DOMAIN + entry.tenant_id.bytes + seq.to_bytes(8, "big") + prev
        statement += hashlib.sha256(bytes(entry.body)).digest()
        if (entry.seq, bytes(entry.prev)) != (seq, prev):
            yield f"entry {entry.seq} does not follow {seq - 1}"
        prev = hashlib.sha256(statement).digest()
        if bytes(entry.hash) != prev:
            yield f"entry {entry.seq} has another hash"
    if (seq, prev) != _end(case.after):
        yield f"the chain ends at {seq}, its head is elsewhere"


def _end(sight: Sight) -> tuple[int, bytes]:
    return (sight.head.seq, bytes(sight.head.hash)) if sight.head else (0, bytes(32))


def changes_are_on_record(case: Case) -> Iterator[str]:
    """Of this step: each status that a row came to, each decision, each change."""
    said = [(entry.kind, entry) for entry in case.after.entries]
    for move in case.after.moves:
        if move.was == move.to and move.what != "request":
            continue
        if not _is_told(move.what, move.to, move.row, said):
            yield f"no entry says that {move.what} {move.row} is {move.to}"
    for one in case.new("decisions"):
        if not _tells(said, {"decision.recorded"}, one.id):
            yield f"no entry has decision {one.id}"
    taken_back = {one.id for one in case.after.decisions if one.taken_back_by_id}
    for one in _newly_dismissed(case):
        kind = "taken_back" if one in taken_back else "dismissed"
        if not _tells(said, {f"decision.{kind}"}, one):
            yield f"no entry says that decision {one} was {kind}"
    if _rights(case.before) != _rights(case.after) and not said:
        yield "rights changed, and no entry says so"


def _is_told(what: str, to: str, row: UUID, said: list[tuple[str, Row]]) -> bool:
    if what == "job":  # an outbox, not a fact
        return True
    if what == "request":
        return _tells(said, FOLLOWS.get(to, {f"request.{to}"}), row)
    kinds = {f"{what}.{to}"} | RECORDED[what](to)
    return _tells(said, kinds, row)


def _tells(said: list[tuple[str, Row]], kinds: set[str], row: UUID) -> bool:
    return any(
        kind in kinds and (entry.subject_id == row or str(row) in entry.data.values())
        for kind, entry in said
    )


def _newly_dismissed(case: Case) -> list[UUID]:
    before = {one.id for one in case.before.decisions if one.dismissed_at is not None}
    now = {one.id for one in case.after.decisions if one.dismissed_at is not None}
    return list(now - before)


def _rights(sight: Sight) -> tuple[object, ...]:
    return (
        {(one.id, one.active, one.role) for one in sight.members},
        {(one.id, one.until is None) for one in sight.owners},
        {(one.id, one.enabled) for one in sight.agents},
        {(one.id, one.revoked_at is None) for one in sight.keys},
        {(one.id, one.enabled, bytes(one.digest)) for one in sight.tools},
        {(one.policy, one.current) for one in sight.in_force},
        {(one.id, one.used, one.revoked_at is None) for one in sight.standing},
        set(sight.holders),
        {(one.state, one.recovering_since) for one in sight.tenants},
    )


def others_are_untouched(case: Case) -> Iterator[str]:
    """Invariant 4, as far as statuses tell; at the end of an episode, every row."""
    bystander, _ = bystanders()
    for move in case.after.foreign_moves:
        if move.tenant != bystander:
            continue  # an earlier episode's, which sweeps look after too
        yield f"a step here moved {move.what} of another tenant to {move.to}"


def unsigned(tenant_id: UUID, since: int) -> list[str]:
    """Entries after `since` whose signature does not hold."""
    keys = trusted_keys()
    with tenant_transaction(tenant_id):
        rows = list(Entry.objects.filter(tenant_id=tenant_id, seq__gt=since))
    return [
        f"entry {row.seq} is not signed" for row in rows if not is_genuine(row, keys)
    ]


def evidence_is_there(case: Case) -> Iterator[str]:
    """Each counted decision of a consumed grant equals what was recorded of it."""
    revisions = case.after.by_id("revisions")
    for grant in find(case.after.grants, state="consumed"):
        revision = revisions[grant.revision_id]
        for one in find(
            case.after.decisions, revision_id=revision.id, dismissed_at=None
        ):
            if bytes(one.digest) != bytes(revision.digest):
                yield f"decision {one.id} counts for other bytes"
