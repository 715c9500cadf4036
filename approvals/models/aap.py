"""What the Agent Approval Protocol wants back as it came, beside the request."""

from django.db import models

from approvals.models.request import Request
from tenants.models import Agent, TenantForeignKey, TenantModel


class AAPRequest(TenantModel):
    """One submission. `key` and `body_digest` make it idempotent for its agent.

    `timeout`, `server`, `reasoning` and `context` are returned untouched, `context` as
    the text that came. `consume_key` is that of the one consumption there may be.
    """

    request = TenantForeignKey(Request)
    agent = TenantForeignKey(Agent)
    key = models.CharField(max_length=255)
    body_digest = models.BinaryField(max_length=32)
    timeout = models.CharField(max_length=32)
    server = models.TextField(null=True)
    reasoning = models.TextField(null=True)
    context = models.TextField(null=True)
    asked_at = models.DateTimeField()
    deadline_at = models.DateTimeField()
    consume_key = models.CharField(max_length=255, null=True)
    outcome = models.CharField(max_length=9, blank=True)  # succeeded or failed
    note = models.TextField(blank=True)
    reported_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "agent", "key"], name="aap_key_once"
            ),
            models.UniqueConstraint(
                fields=["tenant", "request"], name="aap_one_a_request"
            ),
        ]
