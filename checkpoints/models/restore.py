"""What came of going back to a checkpoint, and runs that went on from an older one."""

from django.db import models

from checkpoints.models.checkpoint import Checkpoint
from sessions.models import Run
from tenants.models import TenantForeignKey, TenantModel


class RestoreReport(TenantModel):
    """One writer's reading of a checkpoint in order to go on, or its refusal.

    Once for each fence: reading again tells nothing new. `code` is empty when it was
    restored. `report` is what `checkpoints.restoring.stored_report` gives.
    """

    class Door(models.TextChoices):
        READ = "read"  # by the agent
        FORK = "fork"  # into another run

    run = TenantForeignKey(Run, db_index=False)
    number = models.PositiveIntegerField()
    door = models.CharField(max_length=8, choices=Door)
    fence = models.BigIntegerField()
    code = models.CharField(max_length=64, blank=True)
    found = models.PositiveIntegerField()  # the stored schema version
    returned = models.PositiveIntegerField()  # the one that it was read as
    report = models.JSONField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "run", "number", "fence", "door", "code", "returned"],
                name="restore_report_once_per_writer",
            )
        ]


class Fork(TenantModel):
    """Where a run began that was opened from another one's checkpoint."""

    run = TenantForeignKey(Run, db_index=False)
    source = TenantForeignKey(Run)
    checkpoint = TenantForeignKey(Checkpoint)
    number = models.PositiveIntegerField()  # the checkpoint's
    reason = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["tenant", "run"], name="fork_once_per_run"),
            models.CheckConstraint(
                condition=~models.Q(run=models.F("source")), name="fork_of_another_run"
            ),
        ]
