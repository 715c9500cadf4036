"""One ongoing interaction and what was said in it."""

from django.db import models

from kernel.sealing import new_key
from tenants.models import Agent, TenantForeignKey, TenantModel


class Session(TenantModel):
    """Groups runs that belong together. Its id finds it and authorises nothing."""

    agent = TenantForeignKey(Agent)
    subject = models.CharField(max_length=255)  # the end user served; immutable
    title = models.CharField(max_length=200, blank=True)
    external_id = models.CharField(max_length=255, null=True)
    salt = models.BinaryField(default=new_key)  # of its key; empty once erased

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "agent", "external_id"],
                name="session_external_id_once",
            )
        ]


class Item(TenantModel):
    """One message, call or result, kept as the exact JSON text that arrived.

    The database has it `sealed`; `sessions.vault` puts `raw` there and takes it out.
    """

    session = TenantForeignKey(Session, db_index=False)
    run = models.UUIDField(null=True)
    position = models.BigIntegerField()
    sealed = models.BinaryField(null=True)
    legacy = models.TextField(
        db_column="raw", default=""
    )  # added before all were sealed
    _raw: str | None = None

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "session", "position"], name="item_position_once"
            )
        ]

    @property
    def raw(self) -> str:
        """The text that arrived. Raises RuntimeError while the item is still sealed."""
        if self._raw is not None:
            return self._raw
        if self.sealed is not None:
            raise RuntimeError("Open the item with sessions.vault first.")
        return self.legacy

    @raw.setter
    def raw(self, text: str) -> None:
        self._raw = text
