"""A secret's name: which tool and host it is for. Its value is never in the database."""

from django.db import models

from checkpoints.models.tool import Tool
from tenants.models import TenantForeignKey, TenantModel


class SecretName(TenantModel):
    """What `secret://name` may be used for: calls of one tool, at one host.

    `host` is "erp.example" with https, and with a port where that is not the usual one;
    "http://erp.example:80" without https.
    A name that was revoked can be registered anew, as another row.
    """

    name = models.CharField(max_length=64)
    tool = TenantForeignKey(Tool)
    host = models.CharField(max_length=300)
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "name"],
                condition=models.Q(revoked_at=None),
                name="secret_name_in_use_once",
            )
        ]
