"""An offer that is not wanted: it does not come back for the same bounds."""

from uuid import UUID

from approvals.models import OfferDismissal
from approvals.offering import Offer, offers
from kernel.problems import NOT_FOUND
from tenants.checks import permitted
from tenants.verbs import Verb, perform


def dismiss_offer(*, tenant_id: UUID, by: UUID, digest: bytes) -> None:
    """For all who administer the tenant. Raises `not_found`, and as `permitted` does."""

    def work(verb: Verb) -> None:
        actor = permitted(tenant_id, by)
        offer = known_offer(digest)
        row, made = OfferDismissal.objects.get_or_create(
            tenant_id=tenant_id, digest=digest, defaults={"member_id": by}
        )
        if made:
            about = {
                "digest": digest.hex(),
                "tool": offer.tool.name,
                "agent": str(offer.agent_id),
                "environment": offer.environment,
            }
            verb.record(
                "offer.dismissed", actor=actor, subject=("offer", row.id), data=about
            )

    perform(tenant_id, work)


def known_offer(digest: bytes) -> Offer:
    """As it stands now. Raises `not_found`. Inside the scope."""
    for one in offers():
        if one.digest == digest:
            return one
    raise NOT_FOUND("This is not offered any more.")
