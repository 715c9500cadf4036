"""Who looked at a case, and since when."""

from django.db import models

from approvals.models.request import Request, Revision
from kernel.clock import ClockTimestamp
from tenants.models import Member, TenantForeignKey, TenantModel


class Sight(TenantModel):
    """One person's view of one revision: `created_at` is the first time.

    `last_at` is kept to the minute: it costs a write only when a minute has passed.
    """

    request = TenantForeignKey(Request, db_index=False)
    revision = TenantForeignKey(Revision, db_index=False)
    member = TenantForeignKey(Member)
    last_at = models.DateTimeField(db_default=ClockTimestamp())

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "revision", "member"], name="sight_once_per_person"
            )
        ]
        indexes = [
            models.Index(
                fields=["tenant", "request", "created_at"], name="sight_of_request"
            )
        ]
