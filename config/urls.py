"""Every address. Each app brings its own; the stack's order is the order here."""

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from allauth.account import urls as account
from django.urls import URLPattern, URLResolver, include, path
from django.views.decorators.cache import never_cache
from health_check.views import HealthCheckView

from config.api_docs import docs, schema
from tenants.signin.closed import own_account

_APPS = ("oversight", "approvals", "checkpoints", "sessions", "tenants")

# Of allauth's pages these and no others: whoever changes their own address becomes
# the person who is invited under it.
_ACCOUNT_PAGES = frozenset(
    {
        "account_change_password",
        "account_inactive",
        "account_login",
        "account_logout",
        "account_reauthenticate",
        "account_reset_password",
        "account_reset_password_done",
        "account_reset_password_from_key",
        "account_reset_password_from_key_done",
        "account_set_password",
        "account_signup",
    }
)

handler400 = "tenants.rest.fallbacks.bad_request"
handler403 = "tenants.rest.fallbacks.permission_denied"
handler404 = "tenants.rest.fallbacks.page_not_found"
handler500 = "tenants.rest.fallbacks.server_error"


# For whoever proves who they are by what is theirs, and not by a tenant's provider.
_OWN = frozenset(
    {"account_change_password", "account_reauthenticate", "account_set_password"}
)


def _guarded(page: URLPattern) -> Callable[..., Any]:
    return own_account(page.callback) if page.name in _OWN else page.callback


def _account_pages() -> list[URLPattern]:
    """Each kept by no cache: they show who is signed in."""
    return [
        URLPattern(page.pattern, never_cache(_guarded(page)), None, page.name)
        for page in account.urlpatterns
        if page.name in _ACCOUNT_PAGES
    ]


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
    path("accounts/", include(_account_pages())),
    *(path("", include(f"{app}.urls")) for app in _APPS if find_spec(f"{app}.urls")),
]
