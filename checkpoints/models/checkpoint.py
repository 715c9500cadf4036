"""A numbered position from which a run can restart."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from sessions.models import Run
from tenants.models import TenantForeignKey, TenantModel


class Checkpoint(TenantModel):
    """Opaque payload bytes under a digest, and a header we understand.

    `header` is {"completed": [...], "pending": [...], "markers": {...}}. `closes`
    names the requests whose step ended with this checkpoint. The database has the
    payload sealed; `checkpoints.vault` puts it there and takes it out.
    """

    run = TenantForeignKey(Run, db_index=False)
    number = models.PositiveIntegerField()
    parent = models.PositiveIntegerField(null=True)
    schema_version = models.PositiveIntegerField()
    header = models.JSONField(default=dict)
    stored = models.BinaryField(db_column="payload")
    is_sealed = models.BooleanField(default=False)  # before all were, or empty
    digest = models.BinaryField(max_length=32)
    fence = models.BigIntegerField()
    closes = ArrayField(models.UUIDField(), default=list)
    _payload: bytes | None = None

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

    @property
    def payload(self) -> bytes:
        """What was saved. Raises RuntimeError while it is still sealed."""
        if self._payload is not None:
            return self._payload
        if self.is_sealed:
            raise RuntimeError("Open the checkpoint with checkpoints.vault first.")
        return bytes(self.stored)

    @payload.setter
    def payload(self, payload: bytes) -> None:
        self._payload = payload
