"""One externally visible action, and each attempt to bring it about."""

from typing import Any

from django.core.checks import CheckMessage
from django.db import models
from django.db.models.functions import Upper

from checkpoints.models.tool import Tool
from sessions.models import Run
from tenants.models import TenantForeignKey, TenantModel

STATES = [
    "intended",
    "started",
    "confirmed",
    "failed",
    "unknown",
    "absent",
    "needs_attention",
]


class Computed(models.GeneratedField):
    """A column that the database computes.

    Django would ask it whether it can, also where only models and settings are checked.
    """

    def check(self, **kwargs: Any) -> list[CheckMessage]:
        return super().check(**{**kwargs, "databases": []})


class Effect(TenantModel):
    """Recorded before anything is sent. `key` is the same across attempts.

    `action` is the canonical {"tool", "target", "arguments"} that was approved.
    """

    class State(models.TextChoices):
        INTENDED = "intended"
        STARTED = "started"
        CONFIRMED = "confirmed"
        FAILED = "failed"
        UNKNOWN = "unknown"
        ABSENT = "absent"
        NEEDS_ATTENTION = "needs_attention"

    run = TenantForeignKey(Run)
    tool = TenantForeignKey(Tool)
    request = models.UUIDField()  # requests live above; the grant ties them
    grant = models.UUIDField()
    key = models.BinaryField(max_length=32)
    action = models.BinaryField()
    state = models.CharField(max_length=16, choices=State)
    attempt = models.PositiveIntegerField(default=1)
    external_id = models.CharField(max_length=255, blank=True)
    # How it is looked for, a column because row security uses no index over a function.
    known_as = Computed(
        expression=Upper("external_id"),
        output_field=models.TextField(),
        db_persist=True,
    )
    due_at = models.DateTimeField(null=True)  # when it must be looked at again
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "grant"], name="effect_once_per_grant"
            ),
            models.CheckConstraint(
                condition=models.Q(state__in=STATES), name="effect_state_known"
            ),
            # The same action of one request never has two live effects.
            models.UniqueConstraint(
                fields=["tenant", "key"],
                condition=~models.Q(state__in=["failed", "absent"]),
                name="effect_key_live_once",
            ),
        ]
        indexes = [
            models.Index(
                fields=["due_at"],
                condition=models.Q(due_at__isnull=False),
                name="effect_due",
            ),
            models.Index(fields=["tenant", "request"], name="effect_of_request"),
            models.Index(
                fields=["tenant", "known_as"],
                condition=~models.Q(known_as=""),
                name="effect_known_outside",
            ),
        ]


class Attempt(TenantModel):
    """One try, with the deadline after which it must not be sent any more.

    `status_digest` is the digest of the address where the tool told, as it was sent, what
    comes of a key: what another address does not know of may have happened.
    """

    effect = TenantForeignKey(Effect, db_index=False)
    number = models.PositiveIntegerField()
    fence = models.BigIntegerField()
    send_before = models.DateTimeField()
    status_digest = models.BinaryField(max_length=32, null=True)
    outcome = models.CharField(max_length=16, blank=True)
    evidence = models.JSONField(default=dict)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "effect", "number"], name="attempt_number_once"
            ),
            models.CheckConstraint(
                condition=models.Q(
                    outcome__in=["", "confirmed", "failed", "unknown", "absent"]
                ),
                name="attempt_outcome_known",
            ),
        ]
