"""Verifying a chain because somebody asked for it, in the background."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from django.db import connection

from approvals.services.granting import SYSTEM
from audit.anchors import Anchors, anchors_file, read_anchors
from audit.verify import Report, verify_tenant
from kernel.clock import ClockTimestamp, database_now
from kernel.scope import tenant_transaction
from kernel.update import update_exactly_one
from oversight.models import Verification
from tenants.access import OVERSEERS
from tenants.checks import permitted
from tenants.principal import Person
from tenants.verbs import Gate, Verb, perform

State = Verification.State
LIVE: Final = (State.WAITING, State.RUNNING)
HEARTBEAT: Final = 1.0  # seconds between two words of progress
WORD: Final = 10.0  # seconds between two words of whoever waits for their turn
SILENCE: Final = timedelta(seconds=60)  # after which nobody reads any more

type Begin = Callable[[UUID, UUID], None]
"""Sends for a worker, with the ids of a tenant and of a verification."""


def ask_verification(person: Person, *, begin: Begin) -> Verification:
    """Ask for the tenant's chain to be verified; one at a time, which is then given.

    `begin` is called once this has committed. Raises what `permitted` raises for
    whoever does not oversee the tenant.
    """

    def work(verb: Verb) -> Verification:
        actor = permitted(
            person.tenant_id, person.member_id, roles=OVERSEERS, while_stopped=True
        )
        _give_up_silent()
        known = Verification.objects.filter(state__in=LIVE).first()
        if known is not None:
            return known
        asked = _create(person)
        about = ("verification", asked.id)
        verb.record("audit.verification_asked", actor=actor, subject=about)
        verb.after_commit(lambda: begin(person.tenant_id, asked.id))
        return asked

    return perform(person.tenant_id, work, gate=Gate.EXCLUSIVE)


def carry_out(tenant_id: UUID, verification_id: UUID) -> None:
    """Read the chain, tell of the progress each second, and record what was found.

    The reading is one snapshot, on a connection of its own; this one tells meanwhile.
    Nothing happens for a verification that somebody else carries out or did.
    """
    if not _take(tenant_id, verification_id):
        return
    anchors, progress = read_anchors(anchors_file()), _Progress()
    with ThreadPoolExecutor(1, "verify") as pool:
        reading = pool.submit(_read, tenant_id, anchors, progress)
        while not _is_over(reading):
            _tell(tenant_id, verification_id, progress)
    _record(tenant_id, verification_id, reading.result(), anchors.flaw)


@dataclass(slots=True)
class _Progress:
    done: int = 0
    total: int = 0

    def __call__(self, done: int, total: int) -> None:
        self.done, self.total = done, total


def _create(person: Person) -> Verification:
    return Verification.objects.create(
        tenant_id=person.tenant_id,
        asked_by_id=person.member_id,
        heard_at=database_now(),
    )


def _give_up_silent() -> None:
    """Whoever carried these out was lost: so nothing was found, and anyone may ask."""
    since = database_now() - SILENCE
    rows = Verification.objects.filter(state__in=LIVE, heard_at__lt=since)
    for one in rows.select_for_update():
        _end(one.id, State.LOST)


def keep_waiting(tenant_id: UUID, verification_id: UUID) -> bool:
    """Say that it will be carried out still; whether anybody waits for it."""
    with tenant_transaction(tenant_id):
        rows = Verification.objects.filter(id=verification_id, state=State.WAITING)
        return rows.update(heard_at=ClockTimestamp()) == 1


def _take(tenant_id: UUID, verification_id: UUID) -> bool:
    with tenant_transaction(tenant_id):
        rows = Verification.objects.filter(id=verification_id, state=State.WAITING)
        return rows.update(state=State.RUNNING, heard_at=ClockTimestamp()) == 1


def _read(tenant_id: UUID, anchors: Anchors, progress: _Progress) -> Report:
    try:
        mine = anchors.of(tenant_id)
        return verify_tenant(tenant_id, anchors=mine, progress=progress)
    finally:
        connection.close()


def _is_over(reading: Future[Report]) -> bool:
    return bool(wait([reading], timeout=HEARTBEAT).done)


def _tell(tenant_id: UUID, verification_id: UUID, progress: _Progress) -> None:
    """No verb: nothing is decided by how far the reading has come."""
    with tenant_transaction(tenant_id):
        rows = Verification.objects.filter(id=verification_id, state=State.RUNNING)
        rows.update(done=progress.done, total=progress.total, heard_at=ClockTimestamp())


def _record(
    tenant_id: UUID, verification_id: UUID, report: Report, anchors_flaw: str | None
) -> None:
    found = _found(report, anchors_flaw)

    def work(verb: Verb) -> None:
        state = State.BROKEN if found["flaw_reason"] else State.INTACT
        _end(verification_id, state, **found)
        about = ("verification", verification_id)
        data = {"state": str(state), "entries": report.entries, "head": report.head_seq}
        verb.record("audit.verified", actor=SYSTEM, subject=about, data=data)

    perform(tenant_id, work, gate=Gate.NONE)


def _found(report: Report, anchors_flaw: str | None) -> dict[str, Any]:
    flaw = report.flaw
    reason = flaw.reason.value if flaw else "anchors" if anchors_flaw else ""
    return {
        "done": report.entries,
        "total": report.head_seq,
        "head_seq": report.head_seq,
        "anchors": report.anchors,
        "seconds": report.seconds,
        "flaw_seq": flaw.seq if flaw else None,
        "flaw_reason": reason,
        "flaw_detail": (flaw.detail if flaw else anchors_flaw or "")[:500],
    }


def _end(verification_id: UUID, state: str, **found: Any) -> None:
    rows = Verification.objects.filter(id=verification_id, state__in=LIVE)
    update_exactly_one(rows, state=state, ended_at=ClockTimestamp(), **found)
