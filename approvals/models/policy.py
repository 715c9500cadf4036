"""What is owed before an action may happen."""

from django.db import models

from tenants.models import Member, TenantForeignKey, TenantModel


class Policy(TenantModel):
    """A named policy. What it says is in its revisions; one of them is current."""

    name = models.SlugField(max_length=100)
    current = models.PositiveIntegerField(null=True)  # revision number; null: off

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "name"], name="policy_name_per_tenant"
            )
        ]


class PolicyRevision(TenantModel):
    """One immutable statement of a policy.

    `definition` is {"selector", "verdict", "rules": [{"eligible": {"permission" |
    "groups" | "members"}, "approvals", "denials"}], "queue", "decide_within",
    "use_within", "wait", "reason", "editor_counts"}; durations in seconds.
    """

    policy = TenantForeignKey(Policy, db_index=False)
    number = models.PositiveIntegerField()
    definition = models.JSONField()
    digest = models.BinaryField(max_length=32)
    author = TenantForeignKey(Member, null=True)
    cosigned_by = TenantForeignKey(Member, null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "policy", "number"],
                name="policy_revision_number_once",
            )
        ]
