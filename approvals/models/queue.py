"""Where reviewers see requests, and who may do what there."""

from typing import Any

from django.db import models
from guardian.models import GroupObjectPermissionBase, UserObjectPermissionBase

from kernel.ids import new_id
from tenants.models import Group, Tenant, TenantForeignKey, TenantModel


class Queue(TenantModel):
    """A place for requests. Its object permissions are what reviewers hold.

    Whoever is asked there is reminded after `remind_after` seconds; after
    `escalate_after` the people of a group, or those who decide on another queue, are
    asked too. That moves who is asked, never what is required.
    """

    slug = models.SlugField(max_length=63)
    name = models.CharField(max_length=100)
    default = models.BooleanField(default=False)
    remind_after = models.PositiveIntegerField(null=True)
    escalate_after = models.PositiveIntegerField(null=True)
    escalate_to_group = TenantForeignKey(Group, null=True, db_index=False)
    escalate_to_queue = TenantForeignKey("self", null=True, db_index=False)

    class Meta:
        default_permissions = ()
        permissions = [
            ("view", "Sees the queue and the sessions behind its requests"),
            ("decide", "Decides on its requests"),
            ("edit_arguments", "Edits arguments before deciding"),
            ("resolve", "Records what came of actions that nothing else proves"),
            ("break_glass", "Approves alone in an emergency, where policy permits it"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "slug"], name="queue_slug_per_tenant"
            ),
            models.UniqueConstraint(
                fields=["tenant"],
                condition=models.Q(default=True),
                name="queue_one_default",
            ),
            models.CheckConstraint(
                condition=models.Q(
                    escalate_after=None, escalate_to_group=None, escalate_to_queue=None
                )
                | models.Q(escalate_after__isnull=False)
                & (
                    models.Q(escalate_to_group__isnull=False, escalate_to_queue=None)
                    | models.Q(escalate_to_group=None, escalate_to_queue__isnull=False)
                ),
                name="queue_escalates_to_one",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class OfTenant(models.Model):
    """Ties a permission row to its queue's tenant, so that it can be protected."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey(
        Tenant, on_delete=models.PROTECT, related_name="+", db_index=False
    )

    class Meta:
        abstract = True

    def save(self, *args: Any, **options: Any) -> None:
        self.tenant_id = self.content_object.tenant_id  # type: ignore[attr-defined]
        super().save(*args, **options)


class QueueUserPermission(OfTenant, UserObjectPermissionBase):
    content_object = models.ForeignKey(Queue, on_delete=models.CASCADE)


class QueueGroupPermission(OfTenant, GroupObjectPermissionBase):
    content_object = models.ForeignKey(Queue, on_delete=models.CASCADE)
