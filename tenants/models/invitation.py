"""Whoever is asked to join, until they do; and the mail that is owed to people."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from kernel.clock import ClockTimestamp
from tenants.models.base import TenantForeignKey, TenantModel
from tenants.models.people import Member, Role


class Invitation(TenantModel):
    """An address that may become a member once. It is none until its link was used.

    The row is gone once it was accepted or revoked: the audit log keeps that it was.
    `link` is the SHA-256 of the link's token, which is stored nowhere; `serial` counts
    the links, of which only the newest opens. `invited_by` is null for the operator.
    `sent_at` is when the newest was made.
    """

    email = models.EmailField()
    name = models.CharField(max_length=200, blank=True)  # what the inviter calls them
    role = models.CharField(max_length=16, choices=Role)
    groups = ArrayField(models.UUIDField(), default=list)
    invited_by = TenantForeignKey(Member, null=True)
    serial = models.PositiveIntegerField(default=0)
    link = models.BinaryField(max_length=32)
    sent_at = models.DateTimeField(db_default=ClockTimestamp())
    expires_at = models.DateTimeField()
    until = models.DateTimeField(null=True)  # for guests: when they are strangers again

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(until=None) | models.Q(role="auditor"),
                name="invitation_guest_audits",
            ),
            models.UniqueConstraint(
                fields=["tenant", "email"], name="invitation_once_per_address"
            ),
        ]
        indexes = [models.Index(fields=["link"], name="invitation_of_link")]


class Mail(TenantModel):
    """One letter that is owed, written in the transaction that it tells of.

    It holds ids alone: whoever sends it reads what they stand for at that moment, so
    that nothing is mailed that was decided, erased or forbidden meanwhile. `about` is
    an invitation or a request. `event` is the id of the audit entry. `due_at` is when
    to send it (again); null once it was sent, dropped or given up.
    """

    class State(models.TextChoices):
        QUEUED = "queued"
        SENT = "sent"
        DROPPED = "dropped"  # there was nothing to say any more
        DEAD = "dead"

    kind = models.CharField(max_length=32)
    member = TenantForeignKey(Member, null=True)  # null: whom the invitation names
    about = models.UUIDField()
    event = models.UUIDField()
    state = models.CharField(max_length=7, choices=State, default=State.QUEUED)
    attempts = models.PositiveIntegerField(default=0)  # since it was (re-)queued
    code = models.CharField(max_length=64, blank=True)  # why the last one failed
    due_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "event", "member"], name="mail_once_per_event"
            ),
            models.CheckConstraint(
                condition=models.Q(state="queued", due_at__isnull=False)
                | models.Q(state__in=["sent", "dropped", "dead"], due_at=None),
                name="mail_due_while_queued",
            ),
        ]
        indexes = [
            models.Index(
                fields=["due_at"],
                condition=models.Q(due_at__isnull=False),
                name="mail_due",
            ),
            models.Index(fields=["tenant", "about", "member"], name="mail_about"),
            models.Index(fields=["tenant", "ended_at"], name="mail_ended"),
        ]
