"""Reading and locking sessions and runs, inside their tenant's scope.

What an agent did not open does not exist for it: every look-up on an agent's behalf
carries its id, and answers 404 as if there were nothing. A lock is a statement of its
own; what depends on the row is read after it.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db import models
from django.db.models import (
    Exists,
    F,
    Func,
    IntegerField,
    Max,
    OuterRef,
    Q,
    QuerySet,
)
from django.db.models.functions import Coalesce

from kernel.clock import ClockTimestamp
from kernel.problems import NOT_FOUND
from sessions.models import (
    Branch,
    Fact,
    Item,
    Run,
    Session,
    Transition,
    Workflow,
    WorkflowDraft,
)
from sessions.vault import open_items
from tenants.models import TenantModel
from tenants.principal import Principal

DEFAULT_KIND: Final = "default"
TRUNK: Final = 0
"""The branch that every session has, without a row for it."""
WAITING_FOR_PEOPLE: Final = (
    Run.State.PAUSED,
    Run.State.RESUMING,
    Run.State.NEEDS_ATTENTION,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FactNow:
    """A fact as it stands, and how old it is by the database's clock."""

    value: Any
    provenance: str
    reference: str
    evidence_digest: str
    observed_at: datetime
    age: timedelta
    version: int


def sessions_of(who: Principal) -> QuerySet[Session]:
    """The sessions that the agent opened."""
    return Session.objects.filter(tenant_id=who.tenant_id, agent_id=who.agent_id)


def runs_of(who: Principal) -> QuerySet[Run]:
    """The runs in sessions that the agent opened, with session and workflow."""
    runs = Run.objects.select_related("session", "workflow")
    return runs.filter(tenant_id=who.tenant_id, session__agent_id=who.agent_id)


def own_session(who: Principal, session_id: UUID) -> Session:
    """Raises `not_found` (404) for all but the agent that opened it."""
    return found(sessions_of(who).filter(id=session_id))


def own_run(who: Principal, run_id: UUID) -> Run:
    """The run with session and workflow. Raises `not_found` (404) for strangers."""
    return found(runs_of(who).filter(id=run_id))


def lock_own_session(who: Principal, session_id: UUID) -> Session:
    """Hold the agent's session until the transaction ends; 404, and no lock, for others."""
    mine = {"tenant_id": who.tenant_id, "agent_id": who.agent_id}
    return found(locked(Session).filter(id=session_id, **mine))


def locked[M: TenantModel](model: type[M]) -> QuerySet[M]:
    """Rows FOR NO KEY UPDATE; rows joined to them are read, not locked."""
    manager: models.Manager[M] = model._default_manager
    return manager.select_for_update(no_key=True, of=("self",))


def found[M: TenantModel](rows: QuerySet[M]) -> M:
    """The one row. Raises `not_found` (404) when there is none."""
    row = rows.first()
    if row is None:
        raise NOT_FOUND()
    return row


def facts_of(run: Run) -> Mapping[str, FactNow]:
    """The run's facts by name, with their ages."""
    facts = Fact.objects.filter(tenant_id=run.tenant_id, run_id=run.id)
    aged = facts.annotate(age=ClockTimestamp() - F("observed_at")).order_by("name")
    return {fact.name: _fact_now(fact, fact.age) for fact in aged}


def waiting_sessions(session_ids: Collection[UUID]) -> set[UUID]:
    """Those of the sessions in which a run waits for people."""
    runs = Run.objects.filter(session_id__in=session_ids, state__in=WAITING_FOR_PEOPLE)
    return set(runs.values_list("session_id", flat=True))


def with_waiting(sessions: QuerySet[Session]) -> QuerySet[Session]:
    """The sessions, each with `waits`: whether one of its runs waits for people."""
    runs = Run.objects.filter(session_id=OuterRef("id"), state__in=WAITING_FOR_PEOPLE)
    return sessions.annotate(waits=Exists(runs))


def items_on(session_id: UUID, branch: int = TRUNK) -> QuerySet[Item]:
    """What is said on a branch: its own items and those that it took along.

    What was removed is left out. Nothing for a branch that does not exist.
    """
    said = Q(branch=branch, removal=None)
    for number, through, removals in inherited(session_id, branch):
        stood = Q(removal=None) | Q(removal__gt=removals)
        said |= Q(branch=number, position__lte=through) & stood
    return Item.objects.filter(said, session_id=session_id)


def inherited(session_id: UUID, branch: int) -> list[list[int]]:
    """[[branch, through, removals], …] that a branch still takes from others."""
    if branch == TRUNK:
        return []
    rows = Branch.objects.filter(session_id=session_id, number=branch)
    return rows.values_list("inherits", flat=True).first() or []


def latest_items(
    session: Session, limit: int, *, branch: int = TRUNK, before: int | None = None
) -> list[Item]:
    """The newest `limit` items of a branch, oldest of them first.

    With `before`, the newest of those at lower positions. Raises `item_unreadable`.
    """
    items = items_on(session.id, branch).filter(tenant_id=session.tenant_id)
    if before is not None:
        items = items.filter(position__lt=before)
    newest = list(items.order_by("-position")[:limit])[::-1]
    return open_items(newest, session_id=session.id)


@dataclass(frozen=True, slots=True)
class Window:
    """The newest items that fit, oldest first.

    `left_out` are (position, bytes) of the ones among them that are too large; `more`
    says that there are older ones, which did not fit or were not asked for.
    """

    items: list[Item]
    left_out: tuple[tuple[int, int], ...] = ()
    more: bool = False


def newest_within(
    rows: QuerySet[Item],
    *,
    session_id: UUID,
    limit: int,
    most: int,
    largest: int | None = None,
) -> Window:
    """At most `limit` of the rows, of together `most` bytes: measured, and then read.

    With `largest`, an item of more bytes is left out; without, the newest is there
    whatever its size. Raises `item_unreadable` (409).
    """
    found = _measured(rows, limit + 1)
    left_out = [(at, size) for _, at, size in found if largest and size > largest]
    kept: list[UUID] = []
    room, more = most, len(found) > limit
    for id, _, size in found[:limit]:
        if largest and size > largest:
            continue
        room -= size
        if room < 0 and (kept or largest):
            more = True
            break
        kept.append(id)
    newest = list(rows.filter(id__in=kept).order_by("position"))
    items = open_items(newest, session_id=session_id)
    first = items[0].position if items and more else 0
    return Window(items, tuple(one for one in left_out if one[0] > first), more)


def _measured(rows: QuerySet[Item], limit: int) -> list[tuple[UUID, int, int]]:
    """(id, position, bytes) of the newest. The database tells sizes without reading."""
    size = Coalesce(_Bytes("sealed"), _Bytes("legacy"))
    newest = rows.order_by("-position").annotate(size=size)[:limit]
    return list(newest.values_list("id", "position", "size"))


class _Bytes(Func):
    function = "octet_length"
    output_field = IntegerField()


def item_with(session: Session, item_id: Any) -> Item | None:
    """One item of the session, also one that was removed."""
    rows = Item.objects.filter(session_id=session.id, id=item_id)
    return next(iter(open_items(list(rows), session_id=session.id)), None)


def require_branch(session: Session, branch: int) -> None:
    """Raises `not_found` (404) for a branch that the session does not have."""
    if branch != TRUNK:
        rows = Branch.objects.filter(tenant_id=session.tenant_id, session=session)
        found(rows.filter(number=branch))


def items_between(
    session: Session, first: int, last: int, *, branch: int = TRUNK
) -> list[Item]:
    """What is said on a branch at these positions. Raises `item_unreadable` (409)."""
    items = items_on(session.id, branch).filter(tenant_id=session.tenant_id)
    there = items.filter(position__range=(first, last)).order_by("position")
    return open_items(list(there), session_id=session.id)


def transitions_of(run: Run) -> QuerySet[Transition]:
    """Everything that happened to the run's facts, stage and state."""
    return Transition.objects.filter(tenant_id=run.tenant_id, run_id=run.id)


def last_seq(run: Run) -> int:
    """The number of the run's last transition, counted from 1; 0 before the first."""
    last = transitions_of(run).aggregate(last=Max("seq"))["last"]
    return last or 0


def current_workflow(tenant_id: UUID, kind: str) -> Workflow | None:
    """The newest version of a kind of work, if it was ever defined."""
    versions = Workflow.objects.filter(tenant_id=tenant_id, kind=kind)
    return versions.order_by("-version").first()


def open_draft(kind: str) -> WorkflowDraft | None:
    """What is being written of a kind's next version, if anything is."""
    drafts = WorkflowDraft.objects.filter(kind=kind)
    return drafts.filter(state__in=["draft", "validated"]).first()


def _fact_now(fact: Fact, age: timedelta) -> FactNow:
    return FactNow(
        value=fact.value,
        provenance=fact.provenance,
        reference=fact.reference,
        evidence_digest=fact.evidence_digest,
        observed_at=fact.observed_at,
        age=age,
        version=fact.version,
    )
