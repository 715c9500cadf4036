"""How long what sessions hold is kept, and what must not be erased for now."""

from django.db import models

from sessions.models.session import Session
from tenants.models import TenantForeignKey, TenantModel


class Retention(TenantModel):
    """After how many days without a live run a session is erased.

    For sessions with runs of a kind of work, or, with an empty kind, for all others of
    the tenant. Without one of its own, a kind has the term that its workflow names. Of
    several that fit, the longest counts; without any, nothing is erased.
    """

    kind = models.CharField(max_length=63, blank=True)
    days = models.PositiveIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "kind"], name="retention_once_per_kind"
            ),
            models.CheckConstraint(
                condition=models.Q(days__gte=1), name="retention_is_a_day_at_least"
            ),
        ]


class Hold(TenantModel):
    """A legal hold: until it is lifted nothing of the session is erased.

    Without a session, nothing of the whole tenant.
    """

    session = TenantForeignKey(Session, null=True)
    reason = models.TextField()
    lifted_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["tenant", "session"],
                condition=models.Q(lifted_at=None),
                name="hold_in_force",
            )
        ]
