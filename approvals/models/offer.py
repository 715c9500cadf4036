"""What was offered as a rule, and is not to be offered again."""

from django.db import models

from tenants.models import Member, TenantForeignKey, TenantModel


class OfferDismissal(TenantModel):
    """Somebody did not want it; `digest` is of the offer's exact bounds."""

    digest = models.BinaryField(max_length=32)
    member = TenantForeignKey(Member)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "digest"], name="offer_dismissed_once"
            )
        ]
