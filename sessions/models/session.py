"""One ongoing interaction and what was said in it."""

from django.db import models

from tenants.models import Agent, TenantForeignKey, TenantModel


class Session(TenantModel):
    """Groups runs that belong together. Its id finds it and authorises nothing."""

    agent = TenantForeignKey(Agent)
    subject = models.CharField(max_length=255)  # the end user served; immutable
    title = models.CharField(max_length=200, blank=True)
    external_id = models.CharField(max_length=255, null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "agent", "external_id"],
                name="session_external_id_once",
            )
        ]


class Item(TenantModel):
    """One message, call or result, kept as the exact JSON text that arrived."""

    session = TenantForeignKey(Session, db_index=False)
    run = models.UUIDField(null=True)
    position = models.BigIntegerField()
    raw = models.TextField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "session", "position"], name="item_position_once"
            )
        ]
