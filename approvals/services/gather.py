"""Reading, under their locks, all the rows that the four checks look at."""

from datetime import datetime

from approvals.checks import Matter
from approvals.envelope import Envelope
from approvals.models import Grant, Pause, Request
from approvals.queries import counted_decisions, current_revision
from checkpoints.models import Tool
from sessions.models import Run, Session
from tenants.models import Agent, ApiKey, Tenant


def gather(request: Request, run: Run, now: datetime) -> Matter:
    """The matter of a locked request of a locked run. The gate must be held."""
    revision = current_revision(request)
    pause = Pause.objects.get(id=request.pause_id)
    siblings = Request.objects.filter(pause_id=pause.id).values_list("id", flat=True)
    return Matter(
        tenant=Tenant.objects.get(id=request.tenant_id),
        agent=Agent.objects.get(id=request.agent_id),
        key=ApiKey.objects.get(id=request.key_id),
        session=Session.objects.get(id=request.session_id),
        run=run,
        pause=pause,
        request=request,
        revision=revision,
        envelope=Envelope(bytes(revision.envelope)),
        decisions=tuple(counted_decisions(revision)),
        grant=_newest_grant(request),
        tool=Tool.objects.get(id=request.tool_id),
        sibling_ids=tuple(siblings),
        now=now,
    )


def _newest_grant(request: Request) -> Grant | None:
    rows = Grant.objects.select_for_update(no_key=True).filter(request_id=request.id)
    return rows.order_by("-created_at", "-id").first()
