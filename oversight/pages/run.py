"""One run looked back on: where it stands, and how it came there."""

from typing import Final
from uuid import UUID

from django.db.models import FETCH_RAISE

from approvals.models import Request
from approvals.pages.addresses import address, short_name
from approvals.pages.case.facts import fact_rows
from approvals.pages.case.reading import reading_of
from approvals.pages.viewer import Viewer
from approvals.presentation.case import Link
from checkpoints.models import Checkpoint
from kernel.clock import database_now
from oversight.pages.attention import attention_view
from oversight.pages.steps import checkpoint_story
from oversight.pages.story import MOST, read_story
from oversight.pages.workflows import place
from oversight.presentation.run import CheckpointStory, RunView
from oversight.queries import visible_requests, visible_run
from sessions.artifacts import artifacts_of
from sessions.holds import is_held
from sessions.models import Fact, Run, Session

STANDS: Final = {
    "running": "The agent works on it.",
    "paused": "It is paused, and its agent waits for an answer.",
    "resuming": "It was answered, and is being brought on.",
    "needs_attention": "Only a person can say what is true now.",
    "completed": "It is completed.",
    "failed": "It failed.",
    "cancelled": "It was cancelled.",
}


def run_view(viewer: Viewer, run_id: UUID) -> RunView:
    """Raises `not_found` for a run that the member may not see."""
    run, slug = visible_run(viewer, run_id), viewer.slug
    requests, now = _requests(viewer, run), database_now()
    asked = _asked(run, requests)
    reading = reading_of(viewer, run.workflow, now)
    return RunView(
        id=str(run.id),
        label=short_name("RUN", run.id),
        title=run.session.title,
        agent=run.agent.name,
        subject=run.session.served,
        workflow=f"{run.workflow.kind} {run.workflow.version}",
        state=run.state,
        stage=run.stage,
        answer=_answer(run, asked),
        asks=asked[0] if asked else "",
        opened_at=run.created_at,
        now=now,
        fence=run.fence,
        runs_href=address("runs", slug),
        trace_href=address("trace", slug, run.id),
        state_href=address("run_state", slug, run.id),
        workflow_href=place(
            "workflow", slug, run.workflow.kind, f"?version={run.workflow.version}"
        ),
        head=_head(run),
        lease_until=run.due_at,
        external_id=run.external_id or "",
        facts=fact_rows(
            list(Fact.objects.filter(run_id=run.id).order_by("name")), reading
        ),
        requests=tuple(
            Link(
                text=short_name("REQ", one.id),
                href=address("case", slug, one.id),
            )
            for one in requests
        ),
        story=read_story(viewer, run, requests, reading),
        attention=attention_view(viewer, run, requests),
        erased_at=run.session.erased_at,
        session=Link(
            text=short_name("SES", run.session_id),
            href=address("session", slug, run.id),
        ),
        files=_files(run.session),
        held=is_held(run.tenant_id, run.session_id),
    )


def _files(session: Session) -> int:
    return 0 if session.erased_at is not None else artifacts_of(session).count()


def _requests(viewer: Viewer, run: Run) -> list[Request]:
    """Those on queues that the viewer sees, oldest first; of very many the newest."""
    asked = visible_requests(viewer).filter(run_id=run.id)
    newest = asked.order_by("-created_at", "-id").fetch_mode(FETCH_RAISE)
    return list(newest[:MOST])[::-1]


def _answer(run: Run, asked: list[str]) -> str:
    """Where it stands in a sentence of ours, and what it waits for."""
    said, more = STANDS[run.state], len(asked) - 1
    if not asked:
        return said
    return f"{said} It asks {more + 1} things, first:" if more else f"{said} It asks:"


def _asked(run: Run, requests: list[Request]) -> list[str]:
    """The titles of what it waits for, while it does."""
    open_ones = [one.title for one in requests if one.due_at is not None]
    return open_ones if run.state == "paused" else []


def _head(run: Run) -> CheckpointStory | None:
    rows = Checkpoint.objects.filter(run_id=run.id, number=run.head_number or 0)
    head = rows.defer("stored").first()
    return checkpoint_story(head) if head else None
