"""The isolation boundary."""

from django.db import models

from kernel.clock import ClockTimestamp
from kernel.ids import new_id


class Tenant(models.Model):
    """An organisation whose rows nobody else can see, or know to exist."""

    class State(models.TextChoices):
        ACTIVE = "active"
        STOPPED = "stopped"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    slug = models.SlugField(max_length=63, unique=True)
    name = models.CharField(max_length=200)
    state = models.CharField(max_length=8, choices=State, default=State.ACTIVE)
    # One active member may own and review; it ends for good with the second member.
    solo = models.BooleanField(default=False)
    # Whether agents may read who decided.
    names_deciders = models.BooleanField(default=True)
    # Whether another admin than its author publishes a policy.
    second_admin = models.BooleanField(default=False)
    # How many questions each agent may ask in one minute, unless it has a number of its own.
    asks_per_minute = models.PositiveIntegerField(default=600, db_default=600)
    # Since when actions wait, because the database was set back to an earlier state.
    recovering_since = models.DateTimeField(null=True)
    created_at = models.DateTimeField(db_default=ClockTimestamp(), editable=False)

    def __str__(self) -> str:
        return self.name
