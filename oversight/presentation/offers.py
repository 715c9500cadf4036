"""Rules that are offered: what was alike, the exact bounds, and what may follow."""

from dataclasses import dataclass
from datetime import datetime

from approvals.presentation.shell import Empty, Notice
from approvals.presentation.standing import BoundRow
from oversight.presentation.policy import Comparison, TrialView


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferCard:
    """One offer. `why_not` says why there is no draft to be kept from it."""

    digest: str
    tool: str
    agent: str
    environment: str
    count: int
    bounds: tuple[BoundRow, ...]
    policy: str = ""
    policy_href: str = ""
    comparison: Comparison | None = None
    trial: TrialView | None = None
    inside: int = 0
    examined: int = 0
    case_href: str = ""
    why_not: str = ""
    drafts: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OffersView:
    """In the context as `offers`."""

    cards: tuple[OfferCard, ...]
    now: datetime
    back_href: str
    act_href: str = ""
    empty: Empty | None = None
    notice: Notice | None = None
