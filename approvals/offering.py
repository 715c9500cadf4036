"""Approvals that were all alike: what could be agreed to beforehand, and how far.

Read from what people approved lately, inside the scope. An offer grants nothing: it is a
draft for an administrator, or a form for whoever approved.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from approvals.beforehand import may_be_given
from approvals.envelope import UNREADABLE, Envelope
from approvals.models import Decision, OfferDismissal, Request, Revision
from approvals.policy import Obligation
from approvals.policy.beforehand import (
    Constraint,
    covers,
    is_amount,
    leaves,
    same,
)
from approvals.trial import Lately, read_asked
from checkpoints.models import Tool
from kernel.canonical import digest
from kernel.clock import ClockTimestamp

DOMAIN: Final = "keyturn/offer/v1"
WITHIN: Final = timedelta(days=30)
AT_LEAST: Final = 10  # approvals, and no other answer
MOST: Final = 2_000  # approvals that are looked at, the newest
MOST_READ: Final = 200  # envelopes of each kind
MOST_VALUES: Final = 10  # different texts of one argument
V: Final = Decision.Verdict

type Kind = tuple[UUID, UUID, str]
"""Tool, agent and environment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """`count` approvals that were alike, in bounds that hold them all and no more."""

    tool: Tool
    agent_id: UUID
    agent: str
    environment: str
    count: int
    constraints: tuple[Constraint, ...]
    newest: UUID  # request
    obligation: Obligation

    @property
    def digest(self) -> bytes:
        """Of the exact bounds: other bounds are another offer."""
        bounds = [one.as_json() for one in self.constraints]
        about = [str(self.tool.id), str(self.agent_id), self.environment, bounds]
        return digest(DOMAIN, about)

    @property
    def open(self) -> tuple[str, ...]:
        """Arguments that differed."""
        return tuple(one.path for one in self.constraints if not one.is_exact)


def offers() -> list[Offer]:
    """Those that nobody has dismissed, the commonest first."""
    found = [_offer(each) for each in _alike().values() if len(each) >= AT_LEAST]
    dismissed = set(map(bytes, OfferDismissal.objects.values_list("digest", flat=True)))
    kept = [one for one in found if one is not None and one.digest not in dismissed]
    return sorted(kept, key=lambda one: (-one.count, one.tool.name, one.agent))


def _alike() -> Mapping[Kind, list[Decision]]:
    """Approvals that people gave at the time, by kind; none that had another answer."""
    lately = Decision.objects.filter(created_at__gte=ClockTimestamp() - WITHIN)
    others = lately.exclude(verdict=V.APPROVE).filter(member__isnull=False)
    place = ("request__tool_id", "request__agent_id", "request__key__environment")
    refused = set(others.values_list(*place).distinct())
    given = lately.filter(
        verdict=V.APPROVE,
        member__isnull=False,
        standing=None,
        broke_glass=False,
        dismissed_at=None,
        request__state__in=(Request.State.APPROVED, Request.State.CONSUMED),
        request__session__erased_at=None,
    )
    rows = given.select_related("request__key", "request__tool", "request__agent")
    found: dict[Kind, list[Decision]] = defaultdict(list)
    for one in rows.order_by("-created_at")[:MOST]:
        asked = one.request
        kind = (asked.tool_id, asked.agent_id, asked.key.environment)
        if kind not in refused:
            found[kind].append(one)
    return found


def _offer(decisions: Sequence[Decision]) -> Offer | None:
    """None where they are not alike enough to be bounded."""
    request = decisions[0].request
    if not all(may_be_given(request.tool, one.request.risk) for one in decisions):
        return None
    envelopes = _envelopes(decisions[:MOST_READ])
    constraints = _bounds(envelopes)
    if constraints is None:
        return None
    return Offer(
        tool=request.tool,
        agent_id=request.agent_id,
        agent=request.agent.name,
        environment=request.key.environment,
        count=len({one.request_id for one in decisions}),
        constraints=constraints,
        newest=request.id,
        obligation=envelopes[0].obligation,
    )


def _envelopes(decisions: Iterable[Decision]) -> list[Envelope]:
    """What was approved, newest first; nothing that somebody altered since."""
    ids = [one.revision_id for one in decisions]
    rows = Revision.objects.filter(id__in=ids).order_by("-created_at")
    found = ((Envelope(bytes(row.envelope)), bytes(row.digest)) for row in rows)
    return [one for one, stated in found if one.is_intact(stated)]


def _bounds(envelopes: Sequence[Envelope]) -> tuple[Constraint, ...] | None:
    """The narrowest that hold all of them; None for actions of different shapes."""
    if len(envelopes) < AT_LEAST:
        return None
    try:
        actions = [one.action for one in envelopes]
        values = [leaves(one.arguments) for one in actions]
        obligations = [one.obligation for one in envelopes]
    except UNREADABLE:
        return None
    first = actions[0]
    fixed = all(
        same(one.target, first.target)
        and same(list(one.preconditions), list(first.preconditions))
        for one in actions
    )
    one_key = all(one.approvals_needed == 1 for one in obligations)
    paths = values[0].keys()
    if not (fixed and one_key) or any(one.keys() != paths for one in values):
        return None
    found = [_bound(path, [one[path] for one in values]) for path in sorted(paths)]
    return None if None in found else tuple(one for one in found if one)


def _bound(path: str, values: Sequence[Any]) -> Constraint | None:
    """Exactly, from and to, or one of a few; None: it was anything."""
    distinct = _distinct(values)
    if len(distinct) == 1:
        return Constraint(path, "exactly", {"value": values[0]})
    texts = {isinstance(one, str) for one in values}
    if all(map(is_amount, values)) and len(texts) == 1:
        ordered = sorted(distinct, key=lambda one: Decimal(str(one)))
        return Constraint(path, "between", {"least": ordered[0], "most": ordered[-1]})
    scalar = all(isinstance(one, str | int | float) for one in distinct)
    if not scalar or len(distinct) > MOST_VALUES:
        return None
    return Constraint(path, "one_of", {"values": sorted(distinct, key=str)})


def _distinct(values: Iterable[Any]) -> list[Any]:
    """As JSON has it: 1 and true are two values."""
    return list({digest(DOMAIN, one): one for one in values}.values())


def inside(offer: Offer, requests: Iterable[Lately]) -> int:
    """How many of what was asked lately these bounds would have held."""
    return sum(_holds(offer, one) for one in requests)


def _holds(offer: Offer, request: Lately) -> bool:
    asked = read_asked(request, {})
    return (
        asked is not None
        and asked.action.tool == offer.tool.name
        and asked.action.agent == offer.agent
        and asked.action.environment == offer.environment
        and covers(offer.constraints, asked.action.arguments)
    )
