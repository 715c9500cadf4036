"""Rules that are offered, from what people approved lately. Inside the scope."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.urls import reverse

from approvals.models import Policy, PolicyRevision
from approvals.offering import Offer, inside, offers
from approvals.pages.addresses import address
from approvals.pages.standing import bound_rows
from approvals.pages.viewer import Viewer
from approvals.policy.beforehand import MOST_USES
from approvals.policy.bounds_cel import selector_of
from approvals.presentation.shell import Empty, Notice
from kernel.clock import database_now
from oversight.pages.policies import comparison, open_draft, policy_place
from oversight.pages.policy_names import policy_names
from oversight.pages.policy_trial import read_trial
from oversight.presentation.offers import OfferCard, OffersView

MOST: Final = 5
TRIED: Final = 500
DAYS: Final = 30
NONE: Final = Empty(
    title="Nothing to offer",
    sentence="Once ten requests of one tool and agent were approved within thirty days,"
    " and nobody answered one otherwise, they are looked at here.",
    icon="policy",
)
SEVERAL: Final = "Several policies match these requests: each of them has to permit it."
BUSY: Final = "A draft of this policy is open. Publish or withdraw it first."
PERMITTED: Final = (
    "Policy permits it already: whoever approved one says so on its case."
)
FRESH: Final = "This policy asks for a fresh sign-in each time."
OTHER: Final = "This policy was changed since these were approved."


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafted:
    """What an administrator may keep as a draft; `why_not`: there is nothing to keep."""

    name: str = ""
    before: Mapping[str, Any] | None = None
    definition: Mapping[str, Any] | None = None
    why_not: str = ""


def offers_view(viewer: Viewer, *, notice: Notice | None = None) -> OffersView:
    """The commonest few, each with what its draft would change."""
    cards = tuple(_card(viewer, one) for one in offers()[:MOST])
    slug = viewer.slug
    return OffersView(
        cards=cards,
        now=database_now(),
        back_href=policy_place("policies", slug),
        act_href=reverse("offers", kwargs={"slug": slug})
        if viewer.membership.administers
        else "",
        empty=None if cards else NONE,
        notice=notice,
    )


def drafted(offer: Offer) -> Drafted:
    """The policy that would permit it: a new one, or the one that matched with more."""
    pinned = offer.obligation.policies
    if len(pinned) > 1:
        return Drafted(why_not=SEVERAL)
    if not pinned:
        return _new(offer)
    policy = Policy.objects.get(id=pinned[0][0])
    if policy.current is None:
        return Drafted(why_not=OTHER)
    row = PolicyRevision.objects.get(policy=policy, number=policy.current)
    return _widened(offer, policy.name, row.definition)


def _new(offer: Offer) -> Drafted:
    name = re.sub(r"[^-a-zA-Z0-9_]", "-", f"{offer.tool.name}-{offer.agent}")[:100]
    if Policy.objects.filter(name=name).exists() or open_draft(name) is not None:
        return Drafted(name=name, why_not=BUSY)
    about = (offer.tool.name, offer.agent, offer.environment)
    definition = {
        "verdict": "require_review",
        "summary": "One person agrees, and may agree beforehand.",
        "selector": selector_of(*about, offer.constraints),
        "standing": _standing(offer, ()),
    }
    return Drafted(name=name, definition=definition)


def _widened(offer: Offer, name: str, definition: Mapping[str, Any]) -> Drafted:
    said = definition.get("standing")
    if said and set(offer.open) <= set(said.get("open", ())):
        return Drafted(name=name, why_not=PERMITTED)
    if "reauthentication" in definition:
        return Drafted(name=name, why_not=FRESH)
    if open_draft(name) is not None:
        return Drafted(name=name, why_not=BUSY)
    known = tuple(said.get("open", ())) if said else ()
    wider = {**definition, "standing": _standing(offer, known)}
    return Drafted(name=name, before=dict(definition), definition=wider)


def _standing(offer: Offer, known: tuple[str, ...]) -> dict[str, Any]:
    """As often as in the last thirty days, for thirty more."""
    opened = sorted({*offer.open, *known})
    return {
        "uses": min(offer.count, MOST_USES),
        "expires_within": DAYS * 86_400,
        **({"open": opened} if opened else {}),
    }


def _card(viewer: Viewer, offer: Offer) -> OfferCard:
    draft = drafted(offer)
    slug, definition = viewer.slug, draft.definition
    trial = read_trial(
        viewer, draft.name or "new", definition, limit=TRIED, author=viewer.id
    )
    tried = trial.view() if definition else None
    known = draft.before is not None or draft.why_not in {PERMITTED, FRESH, BUSY}
    names = policy_names()
    return OfferCard(
        digest=offer.digest.hex(),
        tool=offer.tool.name,
        agent=offer.agent,
        environment=offer.environment,
        count=offer.count,
        bounds=bound_rows(list(offer.constraints)),
        policy=draft.name,
        policy_href=policy_place("policy", slug, draft.name) if known else "",
        comparison=comparison("", draft.before, definition, names)
        if definition
        else None,
        trial=tried,
        inside=inside(offer, trial.prepared.requests),
        examined=len(trial.prepared.requests),
        case_href=address("case", slug, offer.newest),
        why_not=draft.why_not,
        drafts=definition is not None,
    )
