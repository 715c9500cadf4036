"""Reading, under their locks, all the rows that the four checks look at."""

from collections.abc import Sequence
from datetime import datetime

from approvals.beforehand import standing_of
from approvals.checks import Matter
from approvals.envelope import Envelope
from approvals.models import Decision, Grant, Pause, Request, StandingApproval
from approvals.queries import counted_decisions, current_revision
from checkpoints.models import Tool
from sessions.models import Run, Session
from tenants.models import Agent, ApiKey, Tenant


def gather(request: Request, run: Run, now: datetime) -> Matter:
    """The matter of a locked request of a locked run. The gate must be held."""
    revision = current_revision(request)
    pause = Pause.objects.get(id=request.pause_id)
    decisions = tuple(counted_decisions(revision))
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
        decisions=decisions,
        grant=_newest_grant(request),
        standing=_standing(decisions),
        tool=Tool.objects.get(id=request.tool_id),
        sibling_ids=tuple(siblings),
        now=now,
    )


def _newest_grant(request: Request) -> Grant | None:
    rows = Grant.objects.select_for_update(no_key=True).filter(request_id=request.id)
    return rows.order_by("-created_at", "-id").first()


def _standing(decisions: Sequence[Decision]) -> StandingApproval | None:
    """After the grant, and locked like it: its uses are counted by whoever holds it."""
    named = standing_of(decisions)
    if named is None:
        return None
    rows = StandingApproval.objects.select_related("request__session")
    return rows.select_for_update(no_key=True, of=("self",)).filter(id=named).first()
