"""What a model was shown, and summaries made for it. Neither grants anything."""

from django.db import models

from sessions.models import Run, Session
from tenants.models import TenantForeignKey, TenantModel


class Context(TenantModel):
    """One context that was built and recorded: its digest, and what was in it.

    `manifest` is {"included": […], "dropped": […]}: names and sources, and nobody's
    text, so that what the model saw can be traced and people's data still be erased.
    """

    run = TenantForeignKey(Run, db_index=False)
    digest = models.BinaryField(max_length=32)
    shape = models.CharField(max_length=16)
    max_tokens = models.PositiveIntegerField()
    tokens = models.PositiveIntegerField()
    manifest = models.JSONField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "run", "digest"], name="context_digest_once"
            )
        ]


class Summary(TenantModel):
    """A text in place of items `first` to `last`, marked as what it is.

    `inputs` is the digest of the items it was made of: when they change, it is void.
    `sealed` is its text under the session's key: it goes when the session is erased.
    `method` says who made it: "agent", or the name of the installation's summariser.
    """

    session = TenantForeignKey(Session)
    branch = models.PositiveIntegerField(default=0)
    first = models.PositiveBigIntegerField()
    last = models.PositiveBigIntegerField()
    inputs = models.BinaryField(max_length=32)
    method = models.CharField(max_length=100)
    sealed = models.BinaryField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(first__lte=models.F("last")),
                name="summary_covers_items",
            )
        ]
