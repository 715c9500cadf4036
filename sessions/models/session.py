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
    erased_at = models.DateTimeField(null=True)
    due_at = models.DateTimeField(null=True)  # erased, and rows are still to go
    last_position = models.BigIntegerField(
        default=0, db_default=0
    )  # ever, on the trunk

    UNSPECIFIED = "unspecified"  # the subject where an agent names nobody

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "agent", "external_id"],
                name="session_external_id_once",
            )
        ]
        indexes = [
            models.Index(
                fields=["tenant", "due_at"],
                condition=models.Q(due_at__isnull=False),
                name="session_to_purge",
            )
        ]

    @property
    def served(self) -> str:
        """The subject as pages name it; '' where the agent named nobody."""
        return "" if self.subject == self.UNSPECIFIED else self.subject


class Branch(TenantModel):
    """A line of the session's items besides its trunk, which is number 0.

    `inherits` is [[branch, through, removals], …]: of that branch, the items up to
    position `through` that stood after so many removals. It only ever shrinks.
    """

    session = TenantForeignKey(Session, db_index=False)
    number = models.PositiveIntegerField()
    origin = models.PositiveIntegerField()
    at = models.BigIntegerField()  # the origin's newest position that was taken along
    inherits = models.JSONField(default=list)
    last_position = models.BigIntegerField(default=0, db_default=0)  # ever given here

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "session", "number"], name="branch_number_once"
            ),
            models.CheckConstraint(
                condition=models.Q(number__gte=1), name="branch_is_not_the_trunk"
            ),
        ]


class Removal(TenantModel):
    """The tombstone of items that were taken back: who, when and why is in the log."""

    class Kind(models.TextChoices):
        POP = "pop"
        CLEAR = "clear"
        REPLACE = "replace"

    session = TenantForeignKey(Session, db_index=False)
    number = models.PositiveIntegerField()  # counts in the session, from 1
    branch = models.PositiveIntegerField()
    kind = models.CharField(max_length=7, choices=Kind)
    first = models.BigIntegerField()
    last = models.BigIntegerField()
    count = models.PositiveIntegerField()
    reason = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "session", "number"], name="removal_number_once"
            ),
            models.CheckConstraint(
                condition=models.Q(kind__in=["pop", "clear", "replace"]),
                name="removal_kind_known",
            ),
        ]


class Item(TenantModel):
    """One message, call or result, kept as the exact JSON text that arrived.

    The database has it `sealed`; `sessions.vault` puts `raw` there and takes it out. A
    position names one item of its branch for ever; one that was removed is not said any
    more, and stays until retention takes it.
    """

    session = TenantForeignKey(Session, db_index=False)
    run = models.UUIDField(null=True)
    fence = models.BigIntegerField(null=True)  # of the run's writer who added it
    branch = models.PositiveIntegerField(default=0, db_default=0)
    position = models.BigIntegerField()
    removal = models.PositiveIntegerField(null=True)  # the number of its tombstone
    sealed = models.BinaryField(null=True)
    legacy = models.TextField(
        db_column="raw", default=""
    )  # added before all were sealed
    _raw: str | None = None

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "session", "branch", "position"],
                name="item_position_once",
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
