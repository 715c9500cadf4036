"""Files that belong to a session."""

from django.db import models

from sessions.models.session import Session
from tenants.models import Agent, TenantForeignKey, TenantModel


class Artifact(TenantModel):
    """A file, known in its session by the SHA-256 of its content.

    The row says what it is; the content is sealed on the storage for artifacts, under
    this row's id (`sessions.artifacts`). Once `removed_at` is set it does not exist for
    anybody, and the row goes when its file is gone.
    """

    session = TenantForeignKey(Session, db_index=False)
    agent = TenantForeignKey(Agent)  # who put it there
    sha256 = models.BinaryField(max_length=32)
    name = models.CharField(max_length=200, blank=True)
    media_type = models.CharField(max_length=63)
    size = models.PositiveIntegerField()  # bytes
    expires_at = models.DateTimeField()
    removed_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "session", "sha256"],
                condition=models.Q(removed_at=None),
                name="artifact_once_per_session",
            ),
            models.CheckConstraint(
                condition=models.Q(size__gte=1), name="artifact_is_not_empty"
            ),
        ]
        indexes = [
            models.Index(fields=["tenant", "expires_at"], name="artifact_expiry"),
            models.Index(
                fields=["tenant", "session", "created_at"], name="artifact_newest"
            ),
        ]

    @property
    def digest(self) -> str:
        """The SHA-256 as it is in addresses: 64 lower-case hexadecimal digits."""
        return bytes(self.sha256).hex()
