"""What the checks look at: rows read under their locks, and the sealed envelope."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from approvals.envelope import Envelope
from approvals.models import (
    Decision,
    Grant,
    Pause,
    Request,
    Revision,
    StandingApproval,
)
from checkpoints.models import Tool
from sessions.models import Run, Session
from tenants.models import Agent, ApiKey, Tenant


@dataclass(frozen=True, slots=True, kw_only=True)
class Matter:
    """One request at the moment of its action. `worker` holds the run's lease."""

    tenant: Tenant
    agent: Agent
    key: ApiKey
    session: Session
    run: Run
    pause: Pause
    request: Request
    revision: Revision
    envelope: Envelope
    decisions: tuple[Decision, ...]
    grant: Grant | None
    standing: StandingApproval | None  # by which it was answered beforehand
    tool: Tool
    sibling_ids: tuple[UUID, ...]  # the requests of the same pause
    now: datetime
