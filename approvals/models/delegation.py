"""Who stands in for whom, and when: it moves who is asked, never what is required."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from tenants.models import Member, TenantForeignKey, TenantModel


class Delegation(TenantModel):
    """One person on leave from `starts_at` until `ends_at`, and who is asked instead.

    It never changes but for its end: a change ends it and makes another, so that it can
    always be told whether it was in force when a decision was given under it. Of no
    `queues` it is for all; an id that is none of the tenant's matches nothing.
    """

    delegator = TenantForeignKey(Member)
    delegate = TenantForeignKey(Member, db_index=False)
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    queues = ArrayField(models.UUIDField(), default=list)
    note = models.TextField(blank=True)  # in a member's words, for colleagues
    ended_at = models.DateTimeField(null=True)  # before its time
    ended_by = TenantForeignKey(Member, null=True, db_index=False)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=~models.Q(delegator=models.F("delegate")),
                name="delegation_to_another",
            ),
            models.CheckConstraint(
                condition=models.Q(ends_at__gt=models.F("starts_at")),
                name="delegation_has_time",
            ),
        ]
        indexes = [
            models.Index(
                fields=["tenant", "delegate", "ends_at"],
                condition=models.Q(ended_at=None),
                name="delegation_of_delegate",
            )
        ]
