"""The list of runs, newest first, in pages by keyset."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Self
from uuid import UUID

from django.db.models import FETCH_RAISE, Count, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from approvals.pages.addresses import address, short_name
from approvals.pages.viewer import Viewer
from approvals.presentation.case import Link
from approvals.presentation.marks import RUN
from approvals.presentation.shell import Empty, Pages
from approvals.states import OPEN
from kernel.clock import database_now
from oversight.presentation.run import RunRow, RunsView
from oversight.queries import visible_requests, visible_runs
from sessions.models import Run, Transition
from tenants.models import TenantModel

PAGE: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSelection:
    """Which runs a list shows; anything unknown in an address is the default."""

    state: str = ""
    after: str = ""

    @classmethod
    def read(cls, given: Mapping[str, str]) -> Self:
        state = given.get("state", "")
        return cls(
            state=state if state in Run.State.values else "",
            after=given.get("after", ""),
        )


def runs_view(viewer: Viewer, selection: RunSelection) -> RunsView:
    """One page. Two statements besides those about the viewer's rights."""
    found, slug = _page(viewer, selection), viewer.slug
    rows = tuple(_row(run, slug) for run in found[:PAGE])
    more = len(found) > PAGE
    return RunsView(
        rows=rows,
        pages=_pages(slug, selection, len(rows), found[PAGE - 1] if more else None),
        now=database_now(),
        states=_states(slug, selection),
        empty=None if rows else _empty(slug, selection),
    )


def _page(viewer: Viewer, selection: RunSelection) -> list[Run]:
    rows = visible_runs(viewer).filter(older_than(selection.after))
    if selection.state:
        rows = rows.filter(state=selection.state)
    dressed = _dressed(rows, viewer).select_related("session", "agent", "workflow")
    newest = dressed.order_by("-created_at", "-id").fetch_mode(FETCH_RAISE)
    return list(newest[: PAGE + 1])


def _dressed(rows: QuerySet[Run], viewer: Viewer) -> QuerySet[Run]:
    """With the time of the last step, and how many requests wait that are seen."""
    steps = Transition.objects.filter(run_id=OuterRef("id")).order_by("-seq")
    waiting = visible_requests(viewer).filter(run_id=OuterRef("id"), state__in=OPEN)
    counted = waiting.order_by().values("run_id").annotate(n=Count("id")).values("n")
    return rows.annotate(
        changed_at=Coalesce(Subquery(steps.values("created_at")[:1]), "created_at"),
        waiting=Coalesce(Subquery(counted), 0),
    )


def _row(run: Run, slug: str) -> RunRow:
    return RunRow(
        href=address("run", slug, run.id),
        label=short_name("RUN", run.id),
        title=run.session.title,
        agent=run.agent.name,
        subject=run.session.served,
        workflow=f"{run.workflow.kind} {run.workflow.version}",
        state=run.state,
        changed_at=run.changed_at,  # type: ignore[attr-defined] # annotated above
        open_requests=run.waiting,  # type: ignore[attr-defined]
        stage=run.stage,
        external_id=run.external_id or "",
    )


def _pages(slug: str, selection: RunSelection, shown: int, last: Run | None) -> Pages:
    state = selection.state
    following = cursor_of(last) if last else ""
    return Pages(
        shown=shown,
        previous_href=address("runs", slug, query={"state": state})
        if selection.after
        else "",
        next_href=address("runs", slug, query={"state": state, "after": following})
        if last
        else "",
    )


def cursor_of(last: TenantModel) -> str:
    """What the next page begins after."""
    return f"{last.created_at.isoformat()} {last.id}"


def older_than(cursor: str) -> Q:
    """Older than the cursor's row; a cursor not of our making is none."""
    at, _, id = cursor.partition(" ")
    try:
        moment, last = datetime.fromisoformat(at), UUID(id)
    except ValueError:
        return Q()
    if moment.tzinfo != UTC:
        return Q()
    return Q(created_at__lt=moment) | Q(created_at=moment, id__lt=last)


def _states(slug: str, selection: RunSelection) -> tuple[Link, ...]:
    """The filter; the one in force is no link."""
    choices = {"": "All"} | {state: mark.word for state, mark in RUN.items()}
    return tuple(
        Link(
            text=words,
            href=""
            if state == selection.state
            else address("runs", slug, query={"state": state}),
        )
        for state, words in choices.items()
    )


def _empty(slug: str, selection: RunSelection) -> Empty:
    if selection.state:
        return Empty(
            title="No run is in this state",
            sentence="Others may be.",
            icon="runs",
            label="Show all runs",
            href=address("runs", slug),
        )
    return Empty(
        title="No run to look back on",
        sentence="A run appears once its agent has asked on a queue that you see.",
        icon="runs",
    )
