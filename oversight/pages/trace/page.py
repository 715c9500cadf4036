"""The trace of a run, or of one of its requests. Inside the tenant's scope."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any, Final
from uuid import UUID

from django.db.models import FETCH_RAISE, Model, QuerySet

from approvals.models import Decision, Grant, Request, Revision, VerificationReport
from approvals.pages.addresses import address, short_name
from approvals.pages.case.reading import reading_of
from approvals.pages.viewer import Viewer
from approvals.problems import NOT_FOUND
from checkpoints.models import Attempt, Checkpoint, Effect
from kernel.clock import database_now
from oversight.pages.trace.asked import (
    checkpoint_part,
    context_parts,
    paused_at,
    policy_parts,
    revision_part,
    session_part,
)
from oversight.pages.trace.done import (
    attempt_parts,
    counting_answers,
    decision_part,
    effect_parts,
    grant_part,
    holding_now,
    report_part,
)
from oversight.pages.trace.state import fact_parts, facts_at, item_parts
from oversight.pages.trace.why import MOST as MOST_TOLD
from oversight.pages.trace.why import whys
from oversight.presentation.trace import Part, TraceView, draw_trace
from oversight.queries import visible_requests, visible_run
from sessions.models import Run, Transition

MOST: Final = 60  # newest parts that a picture holds
PICKED: Final = 12  # requests whose rights are led to
ROWS: Final = 100  # newest rows of each kind
# Of what one transaction wrote, that from which the rest follows comes first.
FIRST: Final = (
    *("session", "checkpoint", "facts", "item", "context", "policy"),
    *("revision", "decision", "grant", "report", "effect", "attempt"),
)


def trace_view(viewer: Viewer, run_id: UUID, chosen: str = "") -> TraceView:
    """The run's, or of one of its requests. Raises `not_found` for what is not seen."""
    run, slug = visible_run(viewer, run_id), viewer.slug
    seen = visible_requests(viewer).filter(run_id=run.id).select_related("tool")
    asked = _newest(seen)
    requests = [_one(seen, chosen)] if chosen else asked
    parts = sorted(_parts(viewer, run, requests), key=_order)
    shown = parts[-MOST:]
    return TraceView(
        label=short_name("RUN", run.id),
        title=run.session.title,
        now=database_now(),
        run_href=address("run", slug, run.id),
        state_href=address("run_state", slug, run.id),
        json_href=address("trace_json", slug, run.id, query={"request": chosen}),
        agentack_href=address("trace_agentack", slug, run.id),
        bundle_href=address("run_bundle", slug, run.id)
        if viewer.membership.oversees
        else "",
        verifier_href=address("verify_bundle", slug),
        elsewhere_href=f"{address('audit', slug)}#elsewhere",
        rights=_rights(viewer, requests),
        answer=_answer(requests),
        whys=whys(run, requests),
        graph=draw_trace(shown),
        parts=tuple(shown),
        left_out=len(parts) - len(shown),
        choices=_choices(slug, run, asked, chosen),
    )


def _one(seen: QuerySet[Request], chosen: str) -> Request:
    """However long ago it was asked."""
    try:
        return seen.get(id=UUID(chosen))
    except (ValueError, Request.DoesNotExist):
        raise NOT_FOUND("No such request.") from None


def as_document(view: TraceView) -> dict[str, Any]:
    """The same for programs: the parts in order, each with what it follows from."""
    parts = [
        {**asdict(part), "at": part.at.isoformat(), "after": list(part.after)}
        for part in view.parts
    ]
    return {"run": view.label, "left_out": view.left_out, "parts": parts}


def _parts(viewer: Viewer, run: Run, requests: list[Request]) -> Iterator[Part]:
    slug, of = viewer.slug, {"request_id__in": [one.id for one in requests]}
    yield session_part(slug, run)
    points = _newest(Checkpoint.objects.filter(run_id=run.id).defer("stored"))
    yield from (checkpoint_part(slug, run, one) for one in points)
    facts = _newest(Transition.objects.filter(run_id=run.id).exclude(changes={}))
    reading = reading_of(viewer, run.workflow, database_now())
    yield from fact_parts(slug, run, facts, points, reading)
    items = dict(item_parts(slug, run, requests))
    yield from {one.key: one for one in items.values()}.values()
    yield from context_parts(slug, requests)
    revisions = _newest(Revision.objects.filter(**of))
    yield from policy_parts(slug, revisions, linked=viewer.membership.oversees)
    yield from _asked(slug, requests, revisions, facts, items)
    yield from _done(slug, run, requests)


def _asked(
    slug: str,
    requests: list[Request],
    revisions: list[Revision],
    facts: list[Transition],
    items: Mapping[UUID, Part],
) -> Iterator[Part]:
    seen, paused = {one.id: one for one in requests}, paused_at(requests)
    for one in revisions:
        request = seen[one.request_id]
        item = (items[request.id].key,) if request.id in items else ()
        known = facts_at(facts, one.created_at)
        before = (f"checkpoint:{paused[request.id]}", *known, *item)
        yield revision_part(slug, one, request, before)


def _done(slug: str, run: Run, requests: list[Request]) -> Iterator[Part]:
    ids = [one.id for one in requests]
    answers = Decision.objects.select_related("member", "on_behalf_of", "revision")
    given = _newest(answers.filter(request_id__in=ids).defer("revision__envelope"))
    holding = holding_now(requests, given)
    yield from (decision_part(slug, one, holding) for one in given)
    asked = VerificationReport.objects.select_related("revision")
    reports = _newest(asked.filter(request_id__in=ids).defer("revision__envelope"))
    counting = counting_answers(given)
    grants = _newest(
        Grant.objects.filter(request_id__in=ids).select_related("revision")
    )
    yield from (grant_part(slug, one, counting) for one in grants)
    yield from (report_part(slug, one, counting) for one in reports)
    of_run = Effect.objects.filter(run_id=run.id, request__in=ids)
    effects = _newest(of_run.select_related("tool"))
    tries = _newest(Attempt.objects.filter(effect_id__in=[one.id for one in effects]))
    yield from effect_parts(slug, effects, reports, tries)
    yield from attempt_parts(slug, effects, tries)


def _newest[M: Model](rows: QuerySet[M]) -> list[M]:
    """A bound, so that no run can make its page without end."""
    return list(rows.order_by("-created_at", "-id").fetch_mode(FETCH_RAISE)[:ROWS])


def _order(part: Part) -> tuple[Any, int]:
    kind = part.key.partition(":")[0]
    return part.at, FIRST.index(kind) if kind in FIRST else len(FIRST)


def _answer(requests: list[Request]) -> str:
    """What is said before the requests themselves answer."""
    if not requests:
        return "It has asked for nothing that you may see, and nothing was done for it."
    if len(requests) == 1:
        return ""
    more = (
        f"; the newest {MOST_TOLD} are told here" if len(requests) > MOST_TOLD else ""
    )
    return f"It asked {len(requests)} times{more}."


def _rights(viewer: Viewer, requests: list[Request]) -> tuple[tuple[str, str], ...]:
    if not viewer.membership.oversees:
        return ()
    return tuple(
        (short_name("REQ", one.id), address("rights_then", viewer.slug, one.id))
        for one in requests[:PICKED]
    )


def _choices(
    slug: str, run: Run, asked: list[Request], chosen: str
) -> tuple[tuple[str, str, bool], ...]:
    """All of the run, or one request: (words, address, whether it is shown now)."""
    if len(asked) < 2:
        return ()
    whole = ("All of it", address("trace", slug, run.id), not chosen)
    each = (
        (
            short_name("REQ", one.id),
            address("trace", slug, run.id, query={"request": str(one.id)}),
            str(one.id) == chosen,
        )
        for one in reversed(asked)
    )
    return (whole, *each)
