"""The rows of a list: what each needs is read once for all of them."""

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from django.db.models import FETCH_RAISE, F

from approvals.delegations import decider
from approvals.envelope import Envelope
from approvals.models import Decision, Request, Revision
from approvals.pages.addresses import address
from approvals.pages.disguise import count_disguised
from approvals.pages.sealed import sealed_action, sealed_obligation
from approvals.pages.selection import Selection
from approvals.presentation.case import Keys, Link
from approvals.presentation.queue import QueueRow
from approvals.states import OPEN
from approvals.titles import has_title, size_of
from checkpoints.models import Effect
from tenants.queries import asks_unusually

NOTHING_ALIKE: Final[Mapping[UUID, Link]] = {}
TICKABLE: Final = frozenset({Request.State.PENDING, Request.State.APPROVED})
NOBODY: Final[Mapping[UUID, tuple[str, ...]]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What a set of requests needs to be drawn, by request id."""

    requests: Mapping[UUID, Request]
    revisions: Mapping[UUID, Revision]
    decisions: Mapping[UUID, Sequence[Decision]]
    effects: Mapping[UUID, Effect]


def queue_rows(
    ids: Sequence[UUID],
    *,
    slug: str,
    selection: Selection,
    current: UUID | None,
    alike: Mapping[UUID, Link] = NOTHING_ALIKE,
    behalf: Mapping[UUID, tuple[str, ...]] = NOBODY,
    others: Container[UUID] = (),
    decides: Container[UUID] = (),
) -> tuple[QueueRow, ...]:
    """One row for each id, in their order; those on queues that the viewer `decides` on
    can be ticked. Four statements, however many ids."""
    batch = _read(ids)
    return tuple(
        replace(
            _row(batch, batch.requests[id], slug, selection, current),
            alike=alike.get(id),
            behalf=behalf.get(id, ()),
            others=id in others,
            tickable=_is_tickable(batch.requests[id], decides),
        )
        for id in ids
        if id in batch.requests
    )


def _read(ids: Sequence[UUID]) -> Batch:
    requests = Request.objects.select_related("tool", "agent", "taken_by").filter(
        id__in=ids
    )
    requests = requests.annotate(unusual=asks_unusually("agent_id"))
    revisions = Revision.objects.filter(
        request_id__in=ids, number=F("request__revision")
    )
    effects = Effect.objects.filter(request__in=ids).order_by("id")
    return Batch(
        requests={one.id: one for one in requests.fetch_mode(FETCH_RAISE)},
        revisions={one.request_id: one for one in revisions.fetch_mode(FETCH_RAISE)},
        decisions=_grouped(_counted(ids)),
        effects={one.request: one for one in effects.fetch_mode(FETCH_RAISE)},
    )


def _counted(ids: Sequence[UUID]) -> Iterable[Decision]:
    """Decisions that stand, on the wording that is asked now."""
    rows = Decision.objects.filter(
        request_id__in=ids,
        dismissed_at=None,
        revision__number=F("request__revision"),
    )
    rows = rows.select_related("member", "on_behalf_of")
    return rows.order_by("created_at", "id").fetch_mode(FETCH_RAISE)


def _grouped(decisions: Iterable[Decision]) -> dict[UUID, list[Decision]]:
    grouped: dict[UUID, list[Decision]] = {}
    for one in decisions:
        grouped.setdefault(one.request_id, []).append(one)
    return grouped


def _row(
    batch: Batch,
    request: Request,
    slug: str,
    selection: Selection,
    current: UUID | None,
) -> QueueRow:
    revision = batch.revisions[request.id]
    decisions = batch.decisions.get(request.id, ())
    envelope = Envelope(bytes(revision.envelope))
    decided = request.state not in OPEN
    return QueueRow(
        id=str(request.id),
        href=address("case", slug, request.id, query=selection.query),
        title=request.title,
        title_is_ours=has_title(request.tool.definition),
        tool=request.tool.name,
        agent=request.agent.name,
        risk=request.risk,
        status=request.state,
        decide_by=request.due_at,
        keys=_keys(envelope, decisions),
        size=_size(envelope, request),
        disguised=_disguised(envelope),
        unusual=not decided and request.unusual,  # type: ignore[attr-defined]  # above
        reopened=not decided and revision.author_type == "system",
        wants_answer=not decided and "approve" not in request.allowed,
        outcome=_outcome(request, decisions, batch.effects.get(request.id)),
        taken_by=request.taken_by.name if request.taken_by else "",
        taken_until=request.taken_until,
        decided_at=request.decided_at if decided else None,
        current=request.id == current,
    )


def _is_tickable(request: Request, decides: Container[UUID]) -> bool:
    """Whether one answer to several could be given to it, or taken back from it."""
    return request.state in TICKABLE and request.queue_id in decides


def _keys(envelope: Envelope, decisions: Sequence[Decision]) -> Keys | None:
    """How many have turned; the case counts them against the people's rights."""
    obligation = sealed_obligation(envelope)
    if obligation is None:
        return None
    verdicts = Counter(one.verdict for one in decisions if one.member_id)
    needed = obligation.approvals_needed
    return Keys(turned=min(verdicts["approve"], needed), needed=needed)


def _size(envelope: Envelope, request: Request) -> str:
    action = sealed_action(envelope)
    return size_of(request.tool.definition, action.arguments) if action else ""


def _disguised(envelope: Envelope) -> int:
    action = sealed_action(envelope)
    return count_disguised([action.arguments, action.target]) if action else 0


def _outcome(
    request: Request, decisions: Sequence[Decision], effect: Effect | None
) -> str:
    if request.state in OPEN:
        return ""
    people = [decider(one) for one in decisions if one.member]
    word = Request.State(request.state).label
    by = f" by {', '.join(people)}" if people else ""
    if effect is not None:
        return f"Approved{by}, {Effect.State(effect.state).label.lower()}"
    return f"{word}{by}"
