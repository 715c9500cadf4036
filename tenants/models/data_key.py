"""A tenant's key, as the database may hold it."""

from django.db import models

from tenants.models.base import TenantModel


class DataKey(TenantModel):
    """The tenant's data key, wrapped by a key that is not in the database.

    `wrapped` is the wrapping key's id (8 bytes) and the sealed key; empty once it was
    destroyed, and everything that was sealed under it is gone with it.
    """

    wrapped = models.BinaryField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["tenant"], name="data_key_per_tenant")
        ]
