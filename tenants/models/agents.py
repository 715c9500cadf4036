"""Machine principals and their credentials. An agent asks; it never decides."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from kernel.clock import ClockTimestamp
from tenants.models.base import TenantForeignKey, TenantModel
from tenants.models.people import Member


class Agent(TenantModel):
    """A program that opens sessions and asks for actions."""

    name = models.SlugField(max_length=63)
    enabled = models.BooleanField(default=True)
    # How many questions it may ask in one minute; None: as many as the tenant says.
    asks_per_minute = models.PositiveIntegerField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "name"], name="agent_name_per_tenant"
            )
        ]

    def __str__(self) -> str:
        return self.name


class AskCount(TenantModel):
    """How many questions an agent asked in one minute, for eight days.

    `usual` is what its busy minutes were by then; None where it was not looked at, or
    where there is too little to say. Written by `keyturn_count_asked` alone.
    """

    agent = TenantForeignKey(Agent)
    minute = models.DateTimeField()
    asked = models.PositiveIntegerField()
    looked = models.BooleanField(default=False)
    usual = models.PositiveIntegerField(null=True)
    unusual = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "agent", "minute"], name="ask_count_per_minute"
            )
        ]


class AgentOwner(TenantModel):
    """A person answerable for an agent, who therefore never approves for it.

    Ended ownership stays on record: it excludes from requests of its time.
    """

    agent = TenantForeignKey(Agent)
    member = TenantForeignKey(Member)
    since = models.DateTimeField(db_default=ClockTimestamp())
    until = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "agent", "member"],
                condition=models.Q(until=None),
                name="agent_owner_once",
            )
        ]


class ApiKey(TenantModel):
    """A credential of an agent: shown once, stored as a SHA-256 digest."""

    agent = TenantForeignKey(Agent)
    name = models.CharField(max_length=100)
    environment = models.CharField(max_length=32)
    scopes = ArrayField(models.CharField(max_length=64), default=list)
    hash = models.BinaryField(max_length=32)
    created_by = TenantForeignKey(Member, null=True)
    expires_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        # Not unique across tenants: a global UNIQUE would answer "does it exist?".
        indexes = [models.Index(fields=["hash"], name="api_key_hash")]


class KeyUse(TenantModel):
    """When a key last opened the door, to the minute; no row: never.

    A table of its own, since a change of the key itself closes the tenant's gate.
    """

    key = TenantForeignKey(ApiKey)
    last_at = models.DateTimeField(db_default=ClockTimestamp())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["tenant", "key"], name="key_use_once")
        ]
