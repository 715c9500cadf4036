"""What every tenant-owned row has in common."""

from typing import Any

from django.db import models

from kernel.clock import ClockTimestamp
from kernel.ids import new_id
from tenants.models.tenant import Tenant


class TenantModel(models.Model):
    """A row of exactly one tenant, created at the database's time."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey(
        Tenant, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    created_at = models.DateTimeField(db_default=ClockTimestamp(), editable=False)

    class Meta:
        abstract = True


class TenantForeignKey[Set, Get](models.ForeignKey[Set, Get]):
    """A reference within one tenant.

    The database enforces it as (tenant_id, id), added by `kernel.protect`: a plain
    foreign key would accept another tenant's row. (Two type parameters, because the
    type checker's plugin fills in what may be set and what is got.)
    """

    def __init__(self, to: Any, **options: Any) -> None:
        options.setdefault("on_delete", models.PROTECT)
        options.setdefault("related_name", "+")
        options["db_constraint"] = False
        super().__init__(to, **options)
