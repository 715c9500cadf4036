"""What the Agent Approval Protocol wants back as it came, beside the request."""

from django.db import models

from approvals.models.request import Request
from tenants.models import Agent, TenantForeignKey, TenantModel


class AAPRequest(TenantModel):
    """One submission. `key` and `body_digest` make it idempotent for its agent.

    `timeout` is returned untouched, and so is what `sealed` has under the session's key:
    `server`, `reasoning`, and `context` as the text that came. `sealed_note` is the
    outcome's. `consume_key` is that of the one consumption there may be; of keys only
    the SHA-256 in hex is kept, as they are the client's own text.
    """

    request = TenantForeignKey(Request)
    agent = TenantForeignKey(Agent)
    key = models.CharField(max_length=64)
    body_digest = models.BinaryField(max_length=32)
    timeout = models.CharField(max_length=32)
    sealed = models.BinaryField()
    asked_at = models.DateTimeField()
    deadline_at = models.DateTimeField()
    consume_key = models.CharField(max_length=64, null=True)
    outcome = models.CharField(max_length=9, blank=True)  # succeeded or failed
    sealed_note = models.BinaryField(default=b"")
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
