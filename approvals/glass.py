"""Breaking the glass: one person approves alone, where every policy permits it.

It stands for the keys of other people, and lifts nothing else: see docs/decisions/0036.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final
from uuid import UUID

from approvals.envelope import Envelope
from approvals.judging import judge_action
from approvals.models import Decision, Request, Revision
from approvals.policy import Obligation
from approvals.policy.obligation import Verdict
from approvals.separation import requesters_side
from sessions.models import Run, Session
from tenants.models import ApiKey

RIGHT: Final = "break_glass"
BROKEN: Final = "approval.broke_glass"
FRESH: Final = 5 * 60  # seconds since the person proved who they are, at most


def permits(obligation: Obligation) -> bool:
    """Whether it leaves the number and kind of people to one who breaks the glass."""
    return obligation.break_glass and obligation.verdict is not Verdict.DENY


def freshness(*obligations: Obligation) -> int:
    """The age in seconds that the sign-in may have: ours, or a policy's shorter one."""
    asked = [one.reauthentication for one in obligations]
    return min([FRESH, *(age for age in asked if age is not None)])


def glass_side(
    request: Request, revision: Revision, envelope: Envelope, *owed: Obligation
) -> frozenset[UUID]:
    """The side that asks, in the strictest sense: nobody breaks it for their own edit.

    Nor is it waived where the tenant is one person's.
    """
    strict = (replace(one, editor_counts=False) for one in owed)
    sides = (requesters_side(request, revision, envelope, one) for one in strict)
    return frozenset().union(*sides)


def owed_now(request: Request, envelope: Envelope) -> Obligation:
    """What today's policies ask for the request's action."""
    action = envelope.action
    key = ApiKey.objects.select_related("agent").get(id=request.key_id)
    return judge_action(
        tool=action.tool,
        arguments=action.arguments,
        target=action.target,
        risk=request.risk,
        key=key,
        agent=key.agent,
        session=Session.objects.get(id=request.session_id),
        run=Run.objects.get(id=request.run_id),
    )


def broken_by(decisions: Iterable[Decision]) -> Decision | None:
    """The decision that broke the glass, of those that count."""
    return next((one for one in decisions if one.broke_glass), None)
