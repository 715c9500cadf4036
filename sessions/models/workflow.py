"""The state contract of one kind of work."""

from django.db import models

from tenants.models import TenantModel


class Workflow(TenantModel):
    """A version of a contract: fields, who may write them, stages, schemas.

    `definition` is {"fields": {name: {"schema", "provenance": [...], "authority":
    bool, "max_age"}}, "stages": {stage: [next, ...]}, "initial", "schema_versions":
    [int, ...]}; anything left out is permitted.
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
