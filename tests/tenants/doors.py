"""The addresses outside of any tenant, without those of the apps above."""

from django.urls import include, path

urlpatterns = [
    path("accounts/", include("allauth.account.urls")),
    path("", include("tenants.urls")),
]
handler404 = "tenants.rest.fallbacks.page_not_found"
