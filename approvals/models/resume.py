"""The outbox of decided requests, and the stored answers of the four checks."""

from django.db import models

from approvals.models.decision import Grant
from approvals.models.request import Request, Revision
from tenants.models import TenantForeignKey, TenantModel


class ResumeJob(TenantModel):
    """Work that a decision owes, written in the decision's transaction.

    `due_at` is when a worker should look at it (again): set while it is queued,
    claimed (the claim's end) or waiting for a retry; null once done or dead.
    """

    class Kind(models.TextChoices):
        ACT = "act"  # verify, and carry out or say ready
        WAKE = "wake"  # verify identity and position, and wake the agent

    class State(models.TextChoices):
        QUEUED = "queued"
        CLAIMED = "claimed"
        RETRY = "retry"
        DONE = "done"
        DEAD = "dead"

    request = TenantForeignKey(Request)
    grant = TenantForeignKey(Grant, null=True)
    kind = models.CharField(max_length=4, choices=Kind)
    state = models.CharField(max_length=8, choices=State, default=State.QUEUED)
    claim = models.UUIDField(null=True)
    attempts = models.PositiveIntegerField(default=0)
    due_at = models.DateTimeField(null=True)
    code = models.CharField(max_length=100, blank=True)  # of the last outcome
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(
                    state__in=["queued", "claimed", "retry", "done", "dead"]
                ),
                name="resume_job_state_known",
            ),
            models.CheckConstraint(
                condition=models.Q(state__in=["done", "dead"], due_at=None)
                | models.Q(
                    state__in=["queued", "claimed", "retry"], due_at__isnull=False
                ),
                name="resume_job_due_while_open",
            ),
        ]
        indexes = [
            models.Index(
                fields=["due_at"],
                condition=models.Q(due_at__isnull=False),
                name="resume_job_due",
            )
        ]


class VerificationReport(TenantModel):
    """The four checks' answers, as they were given, for one attempt to act.

    `checks` is [{"check": "identity" | "position" | "effects" | "authority",
    "passed", "code", "reason", "facts": {...}}].
    """

    request = TenantForeignKey(Request)
    revision = TenantForeignKey(Revision)
    grant = TenantForeignKey(Grant, null=True)
    door = models.CharField(max_length=8)  # act, ready, redeem or wake
    passed = models.BooleanField()
    refusal = models.CharField(max_length=8, blank=True)  # wait, reopen or stop
    code = models.CharField(max_length=100, blank=True)
    reason = models.TextField(blank=True)
    checks = models.JSONField()
    fence = models.BigIntegerField()
