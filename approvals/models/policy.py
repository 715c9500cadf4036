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
    "use_within", "wait", "reason", "editor_counts", "break_glass"}; durations in
    seconds.
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


class PolicyDraft(TenantModel):
    """What may become a policy's next revision, once it is published.

    `definition` null: the policy is to be taken out of force. What is kept can be
    used: it is validated when it is saved, and again when it is published.
    """

    class State(models.TextChoices):
        DRAFT = "draft"
        PUBLISHED = "published"
        WITHDRAWN = "withdrawn"

    name = models.SlugField(max_length=100)
    definition = models.JSONField(null=True)
    digest = models.BinaryField(max_length=32)  # of what was validated
    note = models.TextField(blank=True)  # why, in its author's words
    state = models.CharField(max_length=9, choices=State, default=State.DRAFT)
    author = TenantForeignKey(Member, null=True)  # who wrote it last; null: the console
    revision = models.PositiveIntegerField(null=True)  # that it became

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "name"],
                condition=models.Q(state="draft"),
                name="policy_draft_once",
            ),
            models.CheckConstraint(
                condition=models.Q(state__in=["draft", "published", "withdrawn"]),
                name="policy_draft_state_known",
            ),
        ]
