"""When those who are asked are reminded, and others are asked too."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from approvals.models.request import Request
from tenants.models import TenantForeignKey, TenantModel


class Nudge(TenantModel):
    """One revision that waits, on a queue that reminds or escalates.

    `due_at` is the next of the two times that has not been acted on; null once nothing is
    left to do, or nobody is waited for. Each happens once a revision.
    """

    request = TenantForeignKey(Request, db_index=False)
    revision = models.PositiveIntegerField()
    remind_at = models.DateTimeField(null=True)
    escalate_at = models.DateTimeField(null=True)
    reminded_at = models.DateTimeField(null=True)
    escalated_at = models.DateTimeField(null=True)
    asked_too = ArrayField(models.UUIDField(), default=list)  # members, then
    due_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "request"], name="nudge_one_a_request"
            )
        ]
        indexes = [
            models.Index(
                fields=["due_at"],
                condition=models.Q(due_at__isnull=False),
                name="nudge_due",
            )
        ]
