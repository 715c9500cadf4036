"""The state contract of one kind of work."""

from django.db import models

from tenants.models import Member, TenantForeignKey, TenantModel


class Workflow(TenantModel):
    """A version of a contract: fields, who may write them, stages, schemas.

    `definition` is {"title", "description", "fields": {name: {"schema", "provenance":
    [...], "authority": bool, "max_age" in seconds, "description", "lifetime",
    "visibility", "system_of_record"}}, "stages": {stage: [next, ...]}, "initial",
    "required": {stage: [fact, ...]}, "schema_versions": [int, ...], "upgrades":
    [{"from", "to", "description"}], "retention": {"days"}, "owners": {"session",
    "records", "retention", "recovery", "approvals"}, "second_admin": bool}; anything
    left out is permitted.
    """

    kind = models.SlugField(max_length=63)
    version = models.PositiveIntegerField()
    definition = models.JSONField(default=dict)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "kind", "version"], name="workflow_version_once"
            )
        ]


class WorkflowDraft(TenantModel):
    """What may become a kind's next version, once it was validated and published."""

    class State(models.TextChoices):
        DRAFT = "draft"
        VALIDATED = "validated"
        PUBLISHED = "published"
        WITHDRAWN = "withdrawn"

    kind = models.SlugField(max_length=63)
    definition = models.JSONField(default=dict)
    note = models.TextField(blank=True)  # why, in its author's words
    state = models.CharField(max_length=9, choices=State, default=State.DRAFT)
    author = TenantForeignKey(Member)  # who wrote it last
    digest = models.BinaryField(max_length=32, null=True)  # of what was validated
    version = models.PositiveIntegerField(null=True)  # that it became

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "kind"],
                condition=models.Q(state__in=["draft", "validated"]),
                name="workflow_draft_once",
            ),
            models.CheckConstraint(
                condition=models.Q(
                    state__in=["draft", "validated", "published", "withdrawn"]
                ),
                name="workflow_draft_state_known",
            ),
        ]
