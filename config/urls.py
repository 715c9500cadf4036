"""Every address. Each app brings its own; the stack's order is the order here."""

from importlib.util import find_spec

from django.urls import URLPattern, URLResolver, include, path
from health_check.views import HealthCheckView

from config.api_docs import docs, schema

_APPS = ("oversight", "approvals", "checkpoints", "sessions", "tenants")

handler400 = "tenants.rest.fallbacks.bad_request"
handler403 = "tenants.rest.fallbacks.permission_denied"
handler404 = "tenants.rest.fallbacks.page_not_found"
handler500 = "tenants.rest.fallbacks.server_error"

urlpatterns: list[URLPattern | URLResolver] = [
    # Alive: the process answers. Ready: so does its database.
    path("health/live", HealthCheckView.as_view(checks=[]), name="live"),
    path(
        "health/ready",
        HealthCheckView.as_view(checks=["health_check.checks.Database"]),
        name="ready",
    ),
    path("api/v1/schema", schema, name="schema"),
    path("api/v1/docs", docs, name="docs"),
    path("accounts/", include("allauth.account.urls")),
    *(path("", include(f"{app}.urls")) for app in _APPS if find_spec(f"{app}.urls")),
]
