"""The whole case, in the order in which it should be read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from approvals.models import Request
from approvals.pages.addresses import address, short_name
from approvals.pages.case.asked import keys_of, needs, policy_reasons
from approvals.pages.case.desk import desk_of, recap_of, recap_of_changes
from approvals.pages.case.evidence import evidence
from approvals.pages.case.exact import changes, compared, exact_action
from approvals.pages.case.facts import fact_rows, precondition_rows, radius
from approvals.pages.case.files import named_files
from approvals.pages.case.news import news_of
from approvals.pages.case.progress import progress_of
from approvals.pages.case.record import CaseRecord
from approvals.pages.case.remarks import remarks_of
from approvals.pages.case.talk import newest_items, talk
from approvals.pages.case.timeline import decision_rows, timeline
from approvals.pages.glass import broken_notice, glass_href
from approvals.pages.index import Entry
from approvals.pages.selection import Selection
from approvals.presentation.case import CaseView, ExactAction, Link, TimelineEntry
from approvals.presentation.desk import RecapRow, SheetState
from approvals.presentation.shell import Notice
from approvals.presentation.words import counted
from approvals.titles import has_title
from checkpoints.models import Checkpoint, Tool
from sessions.models import Transition

MOST_STEPS: Final = 40  # checkpoints, and transitions, of the timeline


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a case stands in the list beside it: '4 of 12', and its neighbours.

    For a case that has left the list, `onward_href` is what to read instead.
    """

    words: str = ""
    onward_href: str = ""
    previous_href: str = ""
    next_href: str = ""


def case_view(
    record: CaseRecord,
    selection: Selection,
    place: Place,
    *,
    form: SheetState | None = None,
    notice: Notice | None = None,
) -> CaseView:
    """`form` and `notice` are the answer to what the viewer has just tried."""
    request, exact = record.request, exact_action(record)
    found = newest_items(record)
    return CaseView(
        id=str(request.id),
        label=short_name("REQ", request.id),
        title=request.title,
        title_is_ours=has_title(request.tool.definition),
        wants_answer=_wants_answer(record),
        status=request.state,
        risk=request.risk,
        revision=request.revision,
        agent=request.agent.name,
        unusual=record.is_open and request.unusual,  # type: ignore[attr-defined]
        subject=request.session.served,
        asked_at=request.created_at,
        now=record.now,
        case_href=address("case", record.slug, request.id, query=selection.query),
        live_href=address("stream", record.slug, query=record.stream_of),
        exact=exact,
        run=Link(
            text=short_name("RUN", request.run_id),
            href=address("run", record.slug, request.run_id),
        ),
        checkpoint=request.pause.checkpoint.number,
        lead=_lead(record),
        decide_by=request.due_at,
        use_until=record.grant.expires_at if record.grant else None,
        keys=keys_of(record),
        queue=Link(text=str(request.queue)),
        session=Link(text=short_name("SES", request.session_id)),
        changes=changes(record),
        compared=compared(record),
        policies=policy_reasons(record),
        needs=needs(record),
        asked_too=_asked_too(record),
        asked_too_at=record.nudge.escalated_at if record.nudge else None,
        radius=() if _wants_answer(record) else radius(request.tool),
        facts=fact_rows(record.facts, record.reading),
        preconditions=precondition_rows(record),
        evidence=evidence(record, found.items),
        files=named_files(record),
        talk=talk(record, found),
        timeline=_timeline(record),
        decisions=decision_rows(record.slug, record.decisions),
        answers=record.answers,
        explanation=request.explanation,
        context_href=address("context", record.slug, request.id, query=selection.query),
        context_named=request.context_id is not None,
        desk=desk_of(record, selection, _recap(record, exact), form),
        progress=progress_of(record, selection),
        standing_href=_standing_href(record, selection),
        notice=notice or news_of(record),
        erased_at=request.session.erased_at,
        place=place.words,
        queue_href=address("queue", record.slug, query=selection.query),
        previous_href=place.previous_href,
        next_href=place.next_href,
        onward_href=place.onward_href,
        remarks=remarks_of(record, selection),
        broken=broken_notice(record),
        glass_href=glass_href(record, selection),
    )


def _standing_href(record: CaseRecord, selection: Selection) -> str:
    """For whoever approved it at the time, where policy lets them agree beforehand."""
    mine, given = record.mine, {Request.State.APPROVED, Request.State.CONSUMED}
    if mine is None or mine.standing_id or mine.dismissed_at or not record.obligation:
        return ""
    agreed = mine.verdict == "approve" and record.request.state in given
    permitted = record.obligation.beforehand is not None
    if not (agreed and permitted):
        return ""
    return address(
        "standing_make", record.slug, record.request.id, query=selection.query
    )


def place_of(
    entries: Sequence[Entry], selection: Selection, slug: str, id: UUID
) -> Place:
    """For a case that the list does not hold (any more), only where to go on."""
    ids = [entry.id for entry in entries]
    if selection.view == "decided":
        return Place()
    if id not in ids:
        mine = [entry.id for entry in entries if entry.mine]
        onward = next(iter(mine or ids), None)
        if onward is None:
            return Place()
        href = address("case", slug, onward, query=selection.query)
        return Place(onward_href=href)
    at = ids.index(id)

    def beside(position: int) -> str:
        if not 0 <= position < len(ids):
            return ""
        return address("case", slug, ids[position], query=selection.query)

    return Place(
        words=f"{at + 1} of {len(ids)}",
        previous_href=beside(at - 1),
        next_href=beside(at + 1),
    )


def _wants_answer(record: CaseRecord) -> bool:
    return "approve" not in record.request.allowed


def _lead(record: CaseRecord) -> str:
    """The consequence in a sentence: the administrator's, or else our own."""
    tool = record.request.tool
    if _wants_answer(record):
        return "The agent asks for an answer. Nothing is executed."
    said = tool.definition.get("description")
    if isinstance(said, str) and said:
        return said
    if not record.is_open:
        return ""
    if tool.mode == Tool.Mode.MANAGED:
        return "Once approved and verified, Keyturn makes exactly this call, once."
    return f"Once approved and verified, {record.request.agent.name} may do this once."


def _asked_too(record: CaseRecord) -> str:
    """Who was asked besides when nobody had answered; they have no more rights for it."""
    if record.nudge is None or record.nudge.escalated_at is None:
        return ""
    names = sorted(record.name(one) for one in record.nudge.asked_too)
    return ", ".join(names) or "nobody: none of them may see it"


def _recap(record: CaseRecord, exact: ExactAction) -> tuple[RecapRow, ...]:
    rows = recap_of(
        record,
        tool=exact.tool,
        target=exact.target,
        money=exact.money,
        count=counted(exact.arguments.count, "argument"),
    )
    return rows + recap_of_changes(changes(record))


def _timeline(record: CaseRecord) -> tuple[TimelineEntry, ...]:
    """Steps of the run since the request was asked belong to its story."""
    of = {"run_id": record.request.run_id}
    points = Checkpoint.objects.filter(
        **of, number__gte=record.request.pause.checkpoint.number
    ).defer("stored")
    steps = Transition.objects.filter(
        **of, created_at__gte=record.request.pause.created_at
    )
    return timeline(
        record,
        list(points.order_by("-number")[:MOST_STEPS]),
        list(steps.order_by("-seq")[:MOST_STEPS]),
    )
