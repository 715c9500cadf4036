"""Answers kept so that a repeated request is answered, not repeated."""

from django.db import models

from tenants.models.base import TenantModel


class IdempotencyRecord(TenantModel):
    """The stored answer to one principal's key: same key, same body, same answer."""

    principal = models.UUIDField()
    key = models.CharField(max_length=255)
    body_hash = models.BinaryField(max_length=32)
    status = models.PositiveSmallIntegerField()
    response = models.TextField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "principal", "key"], name="idempotency_key_once"
            )
        ]
