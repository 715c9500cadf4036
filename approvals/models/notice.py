"""What each person wants to be told of by mail, and when."""

from datetime import time
from typing import ClassVar

from django.db import models

from tenants.models import Member, TenantForeignKey, TenantModel


class Pace(models.TextChoices):
    AT_ONCE = "at_once", "At once"
    HOURLY = "hourly", "In an hourly digest"
    DAILY = "daily", "In a daily digest"
    NEVER = "never", "Not at all"


class NoticeSettings(TenantModel):
    """One person's, in one tenant; who has no row has these defaults.

    Times of day are of `zone`. From `quiet_from` to `quiet_until`, past midnight too,
    nothing is mailed; null: no such hours.
    """

    member = TenantForeignKey(Member)
    waiting = models.CharField(max_length=8, choices=Pace, default=Pace.HOURLY)
    asked = models.CharField(max_length=8, choices=Pace, default=Pace.AT_ONCE)
    reminder = models.CharField(max_length=8, choices=Pace, default=Pace.AT_ONCE)
    escalation = models.CharField(max_length=8, choices=Pace, default=Pace.AT_ONCE)
    outcome = models.CharField(max_length=8, choices=Pace, default=Pace.DAILY)
    glass = models.CharField(max_length=8, choices=Pace, default=Pace.AT_ONCE)
    zone = models.CharField(max_length=64, default="UTC")
    daily_at = models.TimeField(default=time(8))
    quiet_from = models.TimeField(null=True)
    quiet_until = models.TimeField(null=True)

    objects: ClassVar[models.Manager["NoticeSettings"]] = models.Manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "member"], name="notice_settings_once"
            ),
            models.CheckConstraint(
                condition=models.Q(quiet_from=None, quiet_until=None)
                | models.Q(quiet_from__isnull=False, quiet_until__isnull=False),
                name="quiet_hours_begin_and_end",
            ),
        ]
