"""A person's yes, given beforehand: so often, until then, for actions like that one."""

from django.db import models

from approvals.models.request import Request
from checkpoints.models import Risk, Tool
from tenants.models import Agent, Member, TenantForeignKey, TenantModel


class StandingApproval(TenantModel):
    """What it covers never changes: only its uses are counted, and it may be revoked.

    `constraints` is [{"path", "kind", …}], one for each argument (policy/beforehand.py);
    target and preconditions are fixed. It was made from the author's approval of
    `revision` of `request`. `digest` is of all its terms, and is signed.
    """

    tool = TenantForeignKey(Tool)
    tool_digest = models.BinaryField(max_length=32)
    agent = TenantForeignKey(Agent)
    environment = models.CharField(max_length=32)
    risk = models.CharField(max_length=8, choices=Risk)  # the highest that it covers
    constraints = models.JSONField(default=list)
    target = models.JSONField(null=True)
    preconditions = models.JSONField(default=list)
    author = TenantForeignKey(Member)
    request = TenantForeignKey(Request, db_index=False)
    revision = models.PositiveIntegerField()
    reason = models.TextField(blank=True)
    digest = models.BinaryField(max_length=32)
    expires_at = models.DateTimeField()
    uses = models.PositiveIntegerField()  # at most
    used = models.PositiveIntegerField(default=0)  # counted when the action begins
    revoked_at = models.DateTimeField(null=True)
    revoked_by = TenantForeignKey(Member, null=True)  # null: the installation
    revoked_reason = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(used__lte=models.F("uses")),
                name="standing_used_at_most",
            ),
            models.CheckConstraint(
                condition=models.Q(revoked_at__isnull=False)
                | models.Q(revoked_by=None, revoked_reason=""),
                name="standing_revoked_once",
            ),
        ]
        indexes = [
            models.Index(
                fields=["tenant", "agent", "tool"],
                condition=models.Q(revoked_at=None),
                name="standing_of_agent",
            ),
            models.Index(fields=["tenant", "request"], name="standing_of_request"),
            models.Index(fields=["tenant", "-created_at"], name="standing_newest"),
        ]
