"""One execution in a session: its state, its single writer, its typed facts."""

from django.db import models

from kernel.clock import ClockTimestamp
from sessions.models.session import Session
from sessions.models.workflow import Workflow
from tenants.models import Agent, TenantForeignKey, TenantModel


class Provenance(models.TextChoices):
    USER = "user"
    SYSTEM = "system"
    TOOL = "tool"
    MODEL = "model"
    REVIEWER = "reviewer"


class Run(TenantModel):
    """One job. Its lease names the one writer; the fence outlives a lost lease."""

    class State(models.TextChoices):
        RUNNING = "running"
        PAUSED = "paused"
        RESUMING = "resuming"
        NEEDS_ATTENTION = "needs_attention"
        COMPLETED = "completed"
        FAILED = "failed"
        CANCELLED = "cancelled"

    session = TenantForeignKey(Session)
    agent = TenantForeignKey(Agent)
    workflow = TenantForeignKey(Workflow)
    state = models.CharField(max_length=16, choices=State, default=State.RUNNING)
    stage = models.CharField(max_length=64, blank=True)
    external_id = models.CharField(max_length=255, null=True)
    branch = models.PositiveIntegerField(null=True)  # null: begun before there were any
    fence = models.BigIntegerField(default=1)
    lease_holder = models.UUIDField(null=True)  # an API key, or a worker's claim
    due_at = models.DateTimeField(null=True)  # the lease ends; null: nobody holds it
    version = models.PositiveBigIntegerField(default=0)  # of the facts
    head_number = models.PositiveIntegerField(null=True)
    head_digest = models.BinaryField(max_length=32, null=True)
    reason = models.TextField(blank=True)  # why it ended, or needs attention
    result = models.JSONField(null=True)
    asks_only = models.BooleanField(default=False, db_default=False)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "session", "external_id"],
                name="run_external_id_once",
            ),
            models.UniqueConstraint(
                fields=["tenant", "session", "branch"],
                condition=models.Q(
                    state__in=["running", "paused", "resuming", "needs_attention"]
                ),
                name="run_alone_on_its_branch",
            ),
            models.CheckConstraint(
                condition=models.Q(
                    state__in=[
                        "running",
                        "paused",
                        "resuming",
                        "needs_attention",
                        "completed",
                        "failed",
                        "cancelled",
                    ]
                ),
                name="run_state_known",
            ),
            models.CheckConstraint(
                condition=models.Q(fence__gte=1), name="run_fence_positive"
            ),
            models.CheckConstraint(
                condition=models.Q(head_number=None, head_digest=None)
                | models.Q(head_number__isnull=False, head_digest__isnull=False),
                name="run_head_whole",
            ),
        ]
        indexes = [
            models.Index(
                fields=["due_at"],
                condition=models.Q(due_at__isnull=False),
                name="run_due",
            ),
            models.Index(fields=["tenant", "created_at"], name="run_newest"),
        ]


class Fact(TenantModel):
    """One typed field of a run's state, as it stands, and what vouches for it."""

    run = TenantForeignKey(Run, db_index=False)
    name = models.CharField(max_length=64)
    value = models.JSONField()
    provenance = models.CharField(max_length=8, choices=Provenance)
    reference = models.CharField(max_length=500, blank=True)
    evidence_digest = models.CharField(max_length=128, blank=True)
    version = models.PositiveBigIntegerField()  # the run's version that set it
    observed_at = models.DateTimeField(db_default=ClockTimestamp())

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "run", "name"], name="fact_once_per_run"
            ),
            models.CheckConstraint(
                condition=models.Q(
                    provenance__in=["user", "system", "tool", "model", "reviewer"]
                ),
                name="fact_provenance_known",
            ),
        ]


class Transition(TenantModel):
    """A recorded change of facts, stage or state. Never changed, never removed.

    `changes` is {name: {"from", "to", "provenance", "reference",
    "evidence_digest"}}.
    """

    run = TenantForeignKey(Run, db_index=False)
    seq = models.PositiveBigIntegerField()
    version = models.PositiveBigIntegerField()  # of the facts, after it
    from_state = models.CharField(max_length=16)
    to_state = models.CharField(max_length=16)
    from_stage = models.CharField(max_length=64, blank=True)
    to_stage = models.CharField(max_length=64, blank=True)
    changes = models.JSONField(default=dict)
    actor_type = models.CharField(max_length=16)
    actor_id = models.UUIDField(null=True)
    reason = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "run", "seq"], name="transition_seq_once"
            )
        ]
