"""What a person may do about a run that needs one, as values for its page."""

from approvals.models import Request
from approvals.pages.addresses import address
from approvals.pages.viewer import Viewer
from approvals.services.closing import ENDED
from approvals.states import LIVE
from checkpoints.models import Effect
from oversight.presentation.run import AttentionView
from sessions.models import Run
from sessions.queries import last_seq


def attention_view(
    viewer: Viewer, run: Run, requests: list[Request]
) -> AttentionView | None:
    """None unless the run needs attention. Who may only look is told what happened."""
    if run.state != Run.State.NEEDS_ATTENTION:
        return None
    open_effect = Effect.objects.filter(run=run).exclude(state__in=ENDED).first()
    return AttentionView(
        reason=run.reason,
        href=address("attend", viewer.slug, run.id)
        if _may(viewer, run, requests)
        else "",
        seen=last_seq(run),
        open_questions=sum(one.due_at is not None for one in requests),
        unknown_effect=open_effect is not None,
        case_href=_case(viewer, requests, open_effect),
    )


def _may(viewer: Viewer, run: Run, requests: list[Request]) -> bool:
    """As `services.attention` judges it; the verb judges again."""
    live = Request.objects.filter(run_id=run.id, state__in=LIVE)
    queues = {one.queue_id for one in requests}
    queues.update(live.values_list("queue_id", flat=True))
    held = viewer.rights.get("resolve", frozenset())
    return viewer.membership.administers or (bool(queues) and queues <= held)


def _case(viewer: Viewer, requests: list[Request], effect: Effect | None) -> str:
    """Where the open effect's outcome is recorded."""
    if effect is None or effect.request not in {one.id for one in requests}:
        return ""
    return address("case", viewer.slug, effect.request)
