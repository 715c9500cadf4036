"""The addresses outside of any tenant."""

from django.urls import include, path

from tenants import views

urlpatterns = [
    path("", views.choose, name="home"),
    path("start", views.start, name="start"),
    path("accounts/", include("tenants.signin.urls")),
]
