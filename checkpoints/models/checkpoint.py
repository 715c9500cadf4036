"""A numbered position from which a run can restart."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from sessions.models import Run
from tenants.models import TenantForeignKey, TenantModel


class Checkpoint(TenantModel):
    """Opaque payload bytes under a digest, and a header we understand.

    `header` is {"completed": [...], "pending": [...], "markers": {...}}. `closes`
    names the requests whose step ended with this checkpoint.
    """

    run = TenantForeignKey(Run, db_index=False)
    number = models.PositiveIntegerField()
    parent = models.PositiveIntegerField(null=True)
    schema_version = models.PositiveIntegerField()
    header = models.JSONField(default=dict)
    payload = models.BinaryField()
    digest = models.BinaryField(max_length=32)
    fence = models.BigIntegerField()
    closes = ArrayField(models.UUIDField(), default=list)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "run", "number"], name="checkpoint_number_once"
            ),
            models.CheckConstraint(
                condition=models.Q(number=1, parent=None)
                | models.Q(parent__lt=models.F("number")),
                name="checkpoint_has_parent",
            ),
        ]
