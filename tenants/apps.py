from importlib import import_module
from uuid import UUID

from django.apps import AppConfig

from audit.queries import register_tenant_names
from kernel.secrets import register_shapes


class TenantsConfig(AppConfig):
    name = "tenants"

    def ready(self) -> None:
        register_tenant_names(self.slug_of)
        register_shapes(import_module("tenants.patterns").shapes_here)
        import_module("tenants.services.inviting").register()

    def slug_of(self, tenant_id: UUID) -> str | None:
        """The tenant's slug, inside its scope, for the commands of the audit log."""
        rows = self.get_model("Tenant")._default_manager.filter(id=tenant_id)
        slug: str | None = rows.values_list("slug", flat=True).first()
        return slug
