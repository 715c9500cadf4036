"""The story of a run: every row that it left, oldest first, in nine statements."""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Final
from uuid import UUID

from django.db.models import FETCH_RAISE, Model, QuerySet

from approvals.models import Decision, Request, Revision, VerificationReport
from approvals.pages.case.reading import Reading
from approvals.pages.viewer import Viewer
from checkpoints.models import Attempt, Checkpoint, Effect
from oversight.pages.recovery import recovery_steps
from oversight.pages.steps import (
    checkpoint_step,
    decision_step,
    effect_step,
    report_step,
    revision_step,
    transition_step,
)
from oversight.presentation.run import StoryStep
from sessions.models import Run, Transition

MOST: Final = 300  # newest rows of each kind


def read_story(
    viewer: Viewer, run: Run, requests: Sequence[Request], reading: Reading
) -> tuple[StoryStep, ...]:
    """All of the run, and of its requests those that the reader sees."""
    slug = viewer.slug
    seen = {one.id: one for one in requests}
    of = {"request_id__in": list(seen)}
    decisions = Decision.objects.filter(**of).select_related(
        "member", "on_behalf_of", "revision"
    )
    steps = chain(
        (
            transition_step(one, reading)
            for one in _newest(Transition.objects.filter(run_id=run.id))
        ),
        map(checkpoint_step, _newest(_points(run))),
        (
            revision_step(one, seen[one.request_id], slug)
            for one in _newest(Revision.objects.filter(**of).defer("envelope"))
        ),
        (
            decision_step(one, seen[one.request_id], slug)
            for one in _newest(decisions.defer("revision__envelope"))
        ),
        (
            report_step(one, seen[one.request_id], slug)
            for one in _newest(VerificationReport.objects.filter(**of))
        ),
        _effects(run, list(seen)),
        recovery_steps(viewer, run),
    )
    return tuple(sorted(steps, key=lambda step: step.at))


def _newest[M: Model](rows: QuerySet[M]) -> list[M]:
    """A bound, so that no run can make its page without end."""
    return list(rows.order_by("-created_at").fetch_mode(FETCH_RAISE)[:MOST])


def _points(run: Run) -> QuerySet[Checkpoint]:
    return Checkpoint.objects.filter(run_id=run.id).defer("stored")


def _effects(run: Run, requests: Sequence[UUID]) -> Iterable[StoryStep]:
    of = Effect.objects.filter(run_id=run.id, request__in=requests)
    effects = _newest(of.select_related("tool"))
    attempts: dict[UUID, list[Attempt]] = {one.id: [] for one in effects}
    rows = Attempt.objects.filter(effect_id__in=list(attempts)).order_by("number")
    for attempt in rows:
        attempts[attempt.effect_id].append(attempt)
    return (effect_step(one, attempts[one.id], run.agent.name) for one in effects)
