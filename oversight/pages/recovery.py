"""Going back to checkpoints, in the story of a run: restores, refusals, forks."""

from collections.abc import Iterator
from itertools import chain
from uuid import UUID

from django.db.models import Q

from approvals.pages.addresses import address, short_name
from approvals.pages.viewer import Viewer
from approvals.presentation.case import Link
from checkpoints.models import Fork, RestoreReport
from oversight.presentation.run import StoryStep
from oversight.queries import visible_runs
from sessions.models import Run

MOST = 100  # newest rows of each kind


def recovery_steps(viewer: Viewer, run: Run) -> Iterator[StoryStep]:
    """In three statements. A run that the member may not see is not named."""
    reports = RestoreReport.objects.filter(run_id=run.id).order_by("-created_at")
    of = Fork.objects.filter(Q(run_id=run.id) | Q(source_id=run.id))
    forks = list(of.order_by("-created_at")[:MOST])
    ids = {id for fork in forks for id in (fork.run_id, fork.source_id)}
    seen = set(visible_runs(viewer).filter(id__in=ids).values_list("id", flat=True))
    return chain(
        map(restore_step, reports[:MOST]),
        (fork_step(fork, run, seen, viewer.slug) for fork in forks),
    )


def restore_step(row: RestoreReport) -> StoryStep:
    """What its agent found when it went back to a checkpoint."""
    if row.code:
        return StoryStep(
            at=row.created_at,
            icon="fail",
            tone="bad",
            heading=f"Checkpoint {row.number} could not be restored",
            sentence=str(row.report.get("advice", "")),
        )
    steps = ", ".join(str(one["name"]) for one in row.report["schema"]["steps"])
    upgraded = f" Schema {row.found} was read as {row.returned}: {steps}."
    return StoryStep(
        at=row.created_at,
        icon="undo",
        heading=f"Checkpoint {row.number} restored",
        sentence=f"Its digest fits.{upgraded if steps else ''}",
    )


def fork_step(row: Fork, run: Run, seen: set[UUID], slug: str) -> StoryStep:
    """Seen from either end; the agent's reason stays the agent's."""
    begins = row.run_id == run.id
    other = row.source_id if begins else row.run_id
    known = other in seen
    name = short_name("RUN", other) if known else "another run"
    place = f"from {name}, " if begins else f"into {name}, from "
    return StoryStep(
        at=row.created_at,
        icon="trace",
        heading=f"Forked {place}checkpoint {row.number}",
        sentence="It has that position and no approval." if begins else "",
        said=row.reason,
        said_by_agent=True,
        links=(Link(text=name, href=address("run", slug, other)),) if known else (),
    )
