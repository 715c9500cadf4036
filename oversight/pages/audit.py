"""The audit log's page, from rows; inside the tenant's scope."""

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final
from uuid import UUID

from approvals.pages.addresses import address, short_name
from approvals.presentation.shell import Empty, Notice, Pages
from audit.anchors import newest_anchors
from audit.browsing import entries, known_kinds
from audit.models import Entry
from audit.queries import stored_head
from kernel.clock import database_now
from oversight.models import Verification
from oversight.pages.audit_filter import Filter
from oversight.presentation.audit import (
    ANCHORS,
    KEYS,
    SCRIPT,
    AnchorRow,
    AuditView,
    Choice,
    Elsewhere,
    EntryRow,
    VerificationBox,
)
from oversight.services.verifying import LIVE, SILENCE
from tenants.access import Membership
from tenants.models import Agent, Member

PAGE: Final = 50
BEHALF: Final = "on_behalf_of"
OTHERS: Final = {"system": "Keyturn", "policy": "Policy", "operator": "An operator"}
# What has a page of its own, and the name that people call it by.
PLACES: Final = {"request": ("case", "REQ"), "run": ("run", "RUN")}


def audit_view(
    member: Membership, asked: Filter, *, notice: Notice | None = None
) -> AuditView:
    """One page of the log. A filter that is wrong finds nothing, and says why."""
    tenant_id, slug = member.tenant_id, member.slug
    found = [] if asked.errors else list(entries(tenant_id, asked.wanted)[: PAGE + 1])
    head, now = stored_head(tenant_id), database_now()
    return AuditView(
        now=now,
        entries=head.seq if head else 0,
        rows=_rows(slug, found[:PAGE]),
        pages=_pages(slug, asked, found),
        verification=_verification(slug, now),
        anchors=_anchors(tenant_id),
        kinds=_kinds(tenant_id, asked),
        people=_people(asked),
        typed=asked.typed,
        errors=asked.errors,
        filtered=asked.is_filtered,
        verify_href=address("audit_verify", slug),
        export_href=address("audit_export", slug),
        elsewhere=_elsewhere(slug),
        all_href=address("audit", slug),
        broken_href=address("broken_glass", slug),
        retention_href=address("retention", slug),
        empty=None if found or asked.errors else _empty(slug, asked),
        notice=notice,
    )


def actor_names(rows: Iterable[Entry]) -> Mapping[str, str]:
    """What people call the members and agents who did it, by id; two statements."""
    ids: dict[str, set[str]] = {"member": set(), "agent": set()}
    for row in rows:
        ids.get(row.actor_type, set()).add(row.actor_id)
        ids["member"] |= {str(row.data[BEHALF])} if row.data.get(BEHALF) else set()
    people = Member.objects.filter(id__in=ids["member"])
    agents = Agent.objects.filter(id__in=ids["agent"])
    named = {str(one.id): one.name for one in people}
    return named | {str(one.id): one.name for one in agents}


def actor_name(row: Entry, names: Mapping[str, str]) -> str:
    """Nothing is left out: who has no name goes by their kind and id."""
    known = names.get(row.actor_id) or OTHERS.get(row.actor_type)
    return known or f"{row.actor_type} {row.actor_id}"


def _rows(slug: str, found: list[Entry]) -> tuple[EntryRow, ...]:
    names = actor_names(found)
    return tuple(_row(slug, row, names) for row in found)


def _row(slug: str, row: Entry, names: Mapping[str, str]) -> EntryRow:
    return EntryRow(
        seq=row.seq,
        at=row.at,
        kind=row.kind,
        actor=_with_behalf(row, names),
        actor_href=address("audit", slug, query={"actor": row.actor_id}),
        history_href=_history(slug, row),
        subject=subject_of(row),
        subject_href=place_of(slug, row),
        about_href=address("audit", slug, query={"subject": str(row.subject_id or "")}),
        said=json.dumps(row.data, indent=2, ensure_ascii=False) if row.data else "",
        hash=bytes(row.hash).hex()[:12],
    )


def _with_behalf(row: Entry, names: Mapping[str, str]) -> str:
    """A decision says for whom it was given."""
    behalf = names.get(str(row.data.get(BEHALF)))
    who = actor_name(row, names)
    return f"{who} for {behalf}" if behalf else who


def _history(slug: str, row: Entry) -> str:
    if row.actor_type != "member":
        return ""
    return address("person_history", slug, UUID(row.actor_id))


def subject_of(row: Entry) -> str:
    """What it was done to, as people call it."""
    if row.subject_id is None:
        return row.subject_type
    if row.subject_type in PLACES:
        return short_name(PLACES[row.subject_type][1], row.subject_id)
    return f"{row.subject_type.replace('_', ' ')} {row.subject_id.hex[-8:].upper()}"


def place_of(slug: str, row: Entry) -> str:
    """The page of what it was done to, or nothing."""
    if row.subject_id is None or row.subject_type not in PLACES:
        return ""
    return address(PLACES[row.subject_type][0], slug, row.subject_id)


def _pages(slug: str, asked: Filter, found: list[Entry]) -> Pages:
    more = len(found) > PAGE
    older = {**asked.typed, "before": str(found[PAGE - 1].seq)} if more else {}
    return Pages(
        shown=len(found[:PAGE]),
        previous_href=""
        if asked.is_first_page
        else address("audit", slug, query=asked.typed),
        next_href=address("audit", slug, query=older) if more else "",
    )


def _verification(slug: str, now: datetime) -> VerificationBox:
    rows = Verification.objects.select_related("asked_by")
    last = rows.order_by("-created_at").first()
    if last is None:
        return VerificationBox()
    return VerificationBox(
        state=_state(last, now),
        asked_by=last.asked_by.name,
        asked_at=last.created_at,
        ended_at=last.ended_at,
        done=last.done,
        total=last.total,
        percent=100 * last.done // last.total if last.total else 0,
        speed=_speed(last),
        anchors=last.anchors,
        flaw=_flaw(last),
        flaw_href=_flaw_href(slug, last),
    )


def _speed(last: Verification) -> int:
    """Entries a second; of one that is under way, so far."""
    seconds = last.seconds or (last.heard_at - last.created_at).total_seconds()
    return round(last.done / seconds) if seconds > 0 else 0


def _state(last: Verification, now: datetime) -> str:
    silent = last.state in LIVE and last.heard_at < now - SILENCE
    return Verification.State.LOST if silent else last.state


def _flaw(last: Verification) -> str:
    if not last.flaw_reason:
        return ""
    where = f"entry {last.flaw_seq:,}: " if last.flaw_seq else ""
    return f"{where}{last.flaw_detail}"


def _flaw_href(slug: str, last: Verification) -> str:
    if not last.flaw_seq:
        return ""
    return address("audit", slug, query={"before": str(last.flaw_seq + 1)})


def _anchors(tenant_id: UUID) -> tuple[AnchorRow, ...]:
    """The newest of those that the separate sink holds of this tenant."""
    return tuple(
        AnchorRow(
            seq=one.seq, at=datetime.fromisoformat(one.at), hash=one.hash.hex()[:12]
        )
        for one in reversed(newest_anchors(tenant_id))
    )


def _elsewhere(slug: str) -> Elsewhere:
    return Elsewhere(
        files=(
            (SCRIPT, address("verify_export", slug)),
            (KEYS, address("audit_keys", slug)),
            (ANCHORS, address("audit_anchors", slug)),
        )
    )


def _kinds(tenant_id: UUID, asked: Filter) -> tuple[Choice, ...]:
    chosen = asked.typed.get("kind", "")
    known = known_kinds(tenant_id)
    return tuple(Choice(value=one, text=one, chosen=one == chosen) for one in known)


def _people(asked: Filter) -> tuple[Choice, ...]:
    """Members and agents by name; whoever else an address asks for stands beside."""
    chosen = asked.typed.get("actor", "")
    people = Member.objects.order_by("name")
    agents = Agent.objects.order_by("name")
    named = {str(one.id): one.name for one in people}
    named |= {str(one.id): f"{one.name} (agent)" for one in agents}
    named["keyturn"] = "Keyturn"
    if chosen and chosen not in named:
        named[chosen] = chosen
    return tuple(
        Choice(value=id, text=name, chosen=id == chosen) for id, name in named.items()
    )


def _empty(slug: str, asked: Filter) -> Empty:
    if not asked.is_filtered and asked.is_first_page:
        return Empty(
            title="Nothing has happened yet",
            sentence="Each change gets a signed entry here.",
            icon="audit",
        )
    return Empty(
        title="No such entry",
        sentence="Nothing in the log is as this filter asks.",
        icon="audit",
        label="Show all entries",
        href=address("audit", slug),
    )
