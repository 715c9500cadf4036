"""What a reviewer has put aside: in their own view, and nowhere else."""

from django.db import models

from approvals.models.request import Request
from tenants.models import Member, TenantForeignKey, TenantModel


class Snooze(TenantModel):
    """One person's request that is put aside `until` then, or until it changes.

    `revision`, `state` and `answers` are what it was then: as soon as one of them is
    another now, it is back.
    """

    member = TenantForeignKey(Member, db_index=False)
    request = TenantForeignKey(Request)
    until = models.DateTimeField()
    revision = models.PositiveIntegerField()
    state = models.CharField(max_length=20)
    answers = models.PositiveIntegerField()  # see queries.answers_until_now

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "member", "request"], name="snooze_once_per_person"
            )
        ]
