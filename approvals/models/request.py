"""The question: may this exact action happen?"""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from approvals.models.context import Context
from approvals.models.queue import Queue
from checkpoints.models import Checkpoint, Risk, Tool
from sessions.models import Run, Session
from tenants.models import Agent, ApiKey, Member, TenantForeignKey, TenantModel

REQUEST_STATES = [
    "pending",
    "changes_requested",
    "approved",
    "rejected",
    "answered",
    "expired",
    "cancelled",
    "superseded",
    "consumed",
    "revoked",
    "lapsed",
]


class Pause(TenantModel):
    """Where a run stopped to ask, and for what it waits."""

    class Until(models.TextChoices):
        ALL = "all"
        EACH = "each"

    run = TenantForeignKey(Run)
    checkpoint = TenantForeignKey(Checkpoint)
    resume_when = models.CharField(max_length=4, choices=Until, default=Until.ALL)
    closed_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "run"],
                condition=models.Q(closed_at=None),
                name="pause_one_open_per_run",
            )
        ]


class Request(TenantModel):
    """One question about one action; what it asks is in its revisions."""

    class State(models.TextChoices):
        PENDING = "pending"
        CHANGES_REQUESTED = "changes_requested"
        APPROVED = "approved"
        REJECTED = "rejected"
        ANSWERED = "answered"
        EXPIRED = "expired"
        CANCELLED = "cancelled"
        SUPERSEDED = "superseded"
        CONSUMED = "consumed"
        REVOKED = "revoked"
        LAPSED = "lapsed"

    pause = TenantForeignKey(Pause)
    run = TenantForeignKey(Run)
    session = TenantForeignKey(Session)
    agent = TenantForeignKey(Agent)
    key = TenantForeignKey(ApiKey)
    tool = TenantForeignKey(Tool)
    queue = TenantForeignKey(Queue)
    context = TenantForeignKey(Context, null=True)  # what the model saw, if it said so
    tool_call_id = models.CharField(max_length=255, null=True)
    state = models.CharField(max_length=20, choices=State, default=State.PENDING)
    revision = models.PositiveIntegerField(default=1)
    risk = models.CharField(max_length=8, choices=Risk)
    title = models.CharField(max_length=300)  # from the action, never the agent's
    explanation = models.TextField(blank=True)  # the agent's own words: untrusted
    allowed = ArrayField(models.CharField(max_length=16), default=list)
    response_schema = models.JSONField(null=True)
    response = models.JSONField(null=True)
    resolution = models.TextField(blank=True)  # why it ended or was re-opened
    due_at = models.DateTimeField(null=True)  # decide-by; null: nothing to decide
    decided_at = models.DateTimeField(null=True)
    taken_by = TenantForeignKey(Member, null=True)  # "I am on it"; binds nobody
    taken_until = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(taken_by=None, taken_until=None)
                | models.Q(taken_by__isnull=False, taken_until__isnull=False),
                name="request_taken_until",
            ),
            models.UniqueConstraint(
                fields=["tenant", "run", "tool_call_id"],
                name="request_tool_call_once",
            ),
            models.CheckConstraint(
                condition=models.Q(state__in=REQUEST_STATES),
                name="request_state_known",
            ),
            models.CheckConstraint(
                condition=models.Q(state__in=["pending", "changes_requested"])
                | models.Q(due_at=None),
                name="request_due_while_open",
            ),
        ]
        indexes = [
            models.Index(
                fields=["due_at"],
                condition=models.Q(due_at__isnull=False),
                name="request_due",
            ),
            models.Index(
                fields=["tenant", "queue", "created_at"],
                condition=models.Q(state__in=["pending", "changes_requested"]),
                name="request_open",
            ),
            models.Index(fields=["tenant", "created_at"], name="request_newest"),
            models.Index(
                fields=["tenant", "agent", "tool", "created_at"],
                condition=models.Q(state__in=["approved", "consumed"]),
                name="request_agreed",
            ),
        ]


class Revision(TenantModel):
    """One immutable wording of the question: exactly what would be executed.

    `envelope` is the canonical (RFC 8785) record that `digest` covers; the action
    is read from it alone, so no copy can disagree with what was approved.
    """

    request = TenantForeignKey(Request, db_index=False)
    number = models.PositiveIntegerField()
    envelope = models.BinaryField()
    digest = models.BinaryField(max_length=32)
    author_type = models.CharField(max_length=16)  # agent, member or system
    author_id = models.UUIDField(null=True)
    reason = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "request", "number"], name="revision_number_once"
            )
        ]
