"""The stop switch: of one agent, of one tool, or of the whole tenant.

Switching off is what stops: from then on the checks refuse whatever is tried. What was
asked and granted before is taken back as well, so that nothing of it is left to be used
once the switch is on again.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from approvals.models import Grant, Request
from approvals.problems import REASON_NEEDED
from approvals.queries import live_grant
from approvals.services.ending import end_request
from approvals.services.granting import end_grant, end_jobs
from approvals.services.scene import lock_scene_of
from approvals.services.standing import void_standing
from approvals.states import LIVE
from audit.append import Actor
from checkpoints.services.tools import turn_tool
from kernel.clock import database_now
from sessions.redaction import redacted_text
from tenants.access import ADMINISTRATORS, OWNERS
from tenants.checks import Acting, permitted
from tenants.models import Tenant
from tenants.services.agents import turn_agent
from tenants.services.tenancy import turn_tenant
from tenants.verbs import Gate, Verb, perform

STEP: Final = 50
"""Requests that are taken back in one transaction, while the gate is closed; and as many
standing approvals, once no request is left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One agent, or one tool; with neither, everything of the tenant."""

    agent_id: UUID | None = None
    tool_id: UUID | None = None

    @property
    def named(self) -> dict[str, UUID]:
        """What rows of requests say of it."""
        known = {"agent_id": self.agent_id, "tool_id": self.tool_id}
        return {name: id for name, id in known.items() if id is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenBack:
    """How many requests were cancelled, how many grants of theirs voided, and how many
    standing approvals ended."""

    requests: int = 0
    grants: int = 0
    standing: int = 0

    def __add__(self, other: "TakenBack") -> "TakenBack":
        return TakenBack(
            requests=self.requests + other.requests,
            grants=self.grants + other.grants,
            standing=self.standing + other.standing,
        )


def stop(*, tenant_id: UUID, by: Acting, target: Target, reason: str) -> TakenBack:
    """Switch it off, cancel what it asks, and void what it was granted and not used.

    What is switched off stays so, and what is left of it is taken back. An action that
    was started cannot be recalled. Raises `reason_needed` (422), `not_found` (404), and
    what `permitted` raises: a whole tenant is stopped by an owner.
    """

    def before(verb: Verb, actor: Actor, why: str) -> None:
        _turn(verb, actor, target, on=False, why=why)

    return _in_steps(tenant_id, by, target, reason, before=before)


def start_again(
    *, tenant_id: UUID, by: Acting, target: Target, reason: str
) -> TakenBack:
    """Let it work again. Nothing of before comes back: what is left is taken back first.

    Raises as `stop` does.
    """

    def after(verb: Verb, actor: Actor, why: str) -> None:
        _turn(verb, actor, target, on=True, why=why)

    return _in_steps(tenant_id, by, target, reason, after=after)


type Turn = Callable[[Verb, Actor, str], None]


def _nothing(verb: Verb, actor: Actor, why: str) -> None: ...


def _in_steps(
    tenant_id: UUID,
    by: Acting,
    target: Target,
    reason: str,
    *,
    before: Turn = _nothing,
    after: Turn = _nothing,
) -> TakenBack:
    """`before` is done in the first transaction, `after` in the last; each is short."""
    if not reason.strip():
        raise REASON_NEEDED("Say why, for whoever reads the audit log.", "/reason")

    def work(verb: Verb) -> tuple[TakenBack, bool]:
        actor = _permitted(tenant_id, by, target)
        why = redacted_text(reason.strip(), tenant_id)
        before(verb, actor, why)
        step, last = _take_back(verb, actor, target, why)
        if last:
            after(verb, actor, why)
        return step, last

    total, last = TakenBack(), False
    while not last:
        step, last = perform(tenant_id, work, gate=Gate.EXCLUSIVE)
        total += step
    return total


def _permitted(tenant_id: UUID, by: Acting, target: Target) -> Actor:
    """Also in a tenant that is stopped: there is more to be taken back."""
    roles = ADMINISTRATORS if target.named else OWNERS
    return permitted(tenant_id, by, roles=roles, while_stopped=True)


def _turn(verb: Verb, actor: Actor, target: Target, *, on: bool, why: str) -> None:
    said: dict[str, Any] = {"actor": actor, "reason": why}
    if target.agent_id is not None:
        turn_agent(verb, agent_id=target.agent_id, enabled=on, **said)
    elif target.tool_id is not None:
        turn_tool(verb, tool_id=target.tool_id, enabled=on, **said)
    else:
        to = Tenant.State.ACTIVE if on else Tenant.State.STOPPED
        turn_tenant(verb, to=to, **said)


def _take_back(
    verb: Verb, actor: Actor, target: Target, why: str
) -> tuple[TakenBack, bool]:
    """A step of it, and whether that was the last. Runs are locked in one order.

    What is switched off uses no standing approval, so that those can come last.
    """
    rows = Request.objects.filter(state__in=LIVE, **target.named)
    ids = rows.order_by("run_id", "id").values_list("id", flat=True)
    found = list(ids[: STEP + 1])
    grants = sum(_cancel(verb, actor, one, why) for one in found[:STEP])
    step = TakenBack(requests=len(found[:STEP]), grants=grants)
    if len(found) > STEP:
        return step, False
    ended, more = void_standing(verb, actor, f"Stopped: {why}", **target.named)
    return step + TakenBack(standing=ended), not more


def _cancel(verb: Verb, actor: Actor, request_id: UUID, why: str) -> bool:
    """Whether there was a grant to be voided. The gate is closed: nobody decides now."""
    request = lock_scene_of(request_id)
    grant = live_grant(request_id)
    if grant is not None:
        end_grant(verb, grant, Grant.State.REVOKED, actor=actor, reason=why)
    end_jobs(request, "stopped")
    to, now = Request.State.CANCELLED, database_now()
    end_request(verb, request, to, now, f"Stopped: {why}", actor=actor)
    return grant is not None
