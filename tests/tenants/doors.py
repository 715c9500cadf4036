"""The addresses outside of any tenant: of the apps above, only what signing in names."""

from django.urls import include, path

from oversight.sso.urls import PATHS as SIGN_ON

urlpatterns = [
    *SIGN_ON,
    path("accounts/", include("allauth.account.urls")),
    path("", include("tenants.urls")),
]
handler404 = "tenants.rest.fallbacks.page_not_found"
