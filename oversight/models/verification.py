"""One verification of a tenant's chain, while it runs and afterwards."""

from django.db import models

from tenants.models import Member, TenantForeignKey, TenantModel


class Verification(TenantModel):
    """`done` of `total` entries were read when it was last `heard_at`.

    `flaw_seq` names the first bad entry, with its reason and words, once it is
    `broken`. The chain itself holds an entry about each that ended.
    """

    class State(models.TextChoices):
        WAITING = "waiting"
        RUNNING = "running"
        INTACT = "intact"
        BROKEN = "broken"
        LOST = "lost"  # whoever read went silent; nothing was found out

    asked_by = TenantForeignKey(Member)
    state = models.CharField(max_length=7, choices=State, default=State.WAITING)
    done = models.BigIntegerField(default=0)
    total = models.BigIntegerField(default=0)
    heard_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    head_seq = models.BigIntegerField(null=True)
    anchors = models.PositiveIntegerField(default=0)
    seconds = models.FloatField(null=True)
    flaw_seq = models.BigIntegerField(null=True)
    flaw_reason = models.CharField(max_length=20, blank=True)
    flaw_detail = models.CharField(max_length=500, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant"],
                condition=models.Q(state__in=["waiting", "running"]),
                name="one_verification_at_a_time",
            ),
            models.CheckConstraint(
                condition=models.Q(state__in=["waiting", "running"], ended_at=None)
                | models.Q(
                    state__in=["intact", "broken", "lost"], ended_at__isnull=False
                ),
                name="verification_ends_once",
            ),
        ]
        indexes = [
            models.Index(fields=["tenant", "-created_at"], name="verification_newest"),
        ]
