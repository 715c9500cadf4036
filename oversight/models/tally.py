"""What was counted of a day that is over, so that nobody counts it again."""

from django.db import models

from approvals.models import Queue
from tenants.models import TenantForeignKey, TenantModel


class Tally(TenantModel):
    """How many requests of a day and a queue share a `key`; see `oversight.tallies`.

    `zone` is the time zone whose day it is.
    """

    day = models.DateField()
    zone = models.CharField(max_length=63)
    queue = TenantForeignKey(Queue, db_index=False)
    measure = models.CharField(max_length=8)
    key = models.CharField(max_length=100)
    total = models.BigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "zone", "day", "queue", "measure", "key"],
                name="tally_once",
            ),
        ]
