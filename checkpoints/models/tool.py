"""A registered capability: what it takes, how risky it is, who carries it out."""

from django.db import models

from tenants.models import TenantModel


class Risk(models.TextChoices):
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


class Tool(TenantModel):
    """One row per name; `version` rises with every change of its definition.

    `definition` is {"description", "schema", "url", "status_url", "timeout",
    "settle", "attempts", "resend", "irreversible"} (seconds; `resend`: it honours the
    idempotency key, so the same key may be sent again). Mode and risk are part of the digest.
    """

    class Mode(models.TextChoices):
        MANAGED = "managed"
        AGENT = "agent"

    name = models.CharField(max_length=100)
    version = models.PositiveIntegerField(default=1)
    mode = models.CharField(max_length=8, choices=Mode)
    risk = models.CharField(max_length=8, choices=Risk)
    reviewed = models.BooleanField(default=True)
    enabled = models.BooleanField(default=True)
    definition = models.JSONField(default=dict)
    digest = models.BinaryField(max_length=32)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "name"], name="tool_name_per_tenant"
            ),
            models.CheckConstraint(
                condition=models.Q(mode__in=["managed", "agent"]),
                name="tool_mode_known",
            ),
            models.CheckConstraint(
                condition=models.Q(risk__in=["low", "medium", "high", "critical"]),
                name="tool_risk_known",
            ),
        ]
