"""Who is told of what happens, and the outbox of what they were told."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from approvals.models.queue import Queue
from tenants.models import TenantForeignKey, TenantModel


class Webhook(TenantModel):
    """An address outside that is told of events, or a chat that people read.

    A chat's address is a secret: it is sealed as one, and `url` is what may be shown of
    it. With a `queue` a chat hears of that queue's requests only. `claim` and `busy_until` are those of the one worker that delivers to it now;
    until `resting_until` it is left alone, since it did not answer.
    """

    class Format(models.TextChoices):
        EVENTS = "events"
        CHAT = "chat"

    format = models.CharField(max_length=6, choices=Format, default=Format.EVENTS)
    url = models.CharField(max_length=2000)
    description = models.CharField(max_length=200, blank=True)
    event_types = ArrayField(models.CharField(max_length=32))
    queue = TenantForeignKey(Queue, null=True, db_index=False)
    with_arguments = models.BooleanField(default=False)
    enabled = models.BooleanField(default=True)
    why_disabled = models.CharField(max_length=200, blank=True)
    failures = models.PositiveIntegerField(default=0)  # since it last answered
    claim = models.UUIDField(null=True)
    busy_until = models.DateTimeField(null=True)
    resting_until = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(format="events", queue=None)
                | models.Q(format="chat", with_arguments=False),
                name="webhook_of_its_format",
            )
        ]


class WebhookSecret(TenantModel):
    """What its messages are signed with: sealed, for this process alone to open.

    While two are in use, as after a rotation, each message carries both signatures. A
    chat's is the address itself, and the newest alone is in use.
    """

    webhook = TenantForeignKey(Webhook)
    sealed = models.BinaryField()
    expires_at = models.DateTimeField(null=True)


class WebhookDelivery(TenantModel):
    """One message to one address, written in the transaction that it tells of.

    `body` never changes, whatever happens later; what a chat reads is made of it, and of
    the rows, as it leaves. `due_at` is when to send it (again); null once it was
    delivered, given up, or dropped, since there was nothing to say any more.
    """

    class State(models.TextChoices):
        QUEUED = "queued"
        DELIVERED = "delivered"
        DEAD = "dead"
        DROPPED = "dropped"

    webhook = TenantForeignKey(Webhook)
    event = models.UUIDField()  # the id of its audit entry, and `webhook-id`
    event_type = models.CharField(max_length=32)
    body = models.TextField()
    state = models.CharField(max_length=9, choices=State, default=State.QUEUED)
    attempts = models.PositiveIntegerField(default=0)  # since it was (re-)queued
    due_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "webhook", "event"], name="webhook_told_once"
            ),
            models.CheckConstraint(
                condition=models.Q(state="queued", due_at__isnull=False)
                | models.Q(state__in=["delivered", "dead", "dropped"], due_at=None),
                name="webhook_delivery_due_while_queued",
            ),
        ]
        indexes = [
            models.Index(
                fields=["due_at"],
                condition=models.Q(due_at__isnull=False),
                name="webhook_delivery_due",
            ),
            models.Index(
                fields=["tenant", "webhook", "due_at"],
                condition=models.Q(due_at__isnull=False),
                name="webhook_delivery_next",
            ),
            models.Index(
                fields=["tenant", "webhook", "created_at"], name="webhook_log"
            ),
        ]


class WebhookAttempt(TenantModel):
    """One try: the status that came back, or the code of what went wrong."""

    delivery = TenantForeignKey(WebhookDelivery)
    status = models.PositiveIntegerField(null=True)
    code = models.CharField(max_length=32, blank=True)
    milliseconds = models.PositiveIntegerField()
