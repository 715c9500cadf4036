from importlib import import_module

from django.apps import AppConfig


class TenantsConfig(AppConfig):
    name = "tenants"

    def ready(self) -> None:
        # Registers how authentication and strict bodies look in the OpenAPI document.
        import_module("tenants.rest.schema")
