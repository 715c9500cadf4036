"""Addresses of signing in with a tenant's provider."""

from django.urls import path

from oversight.sso import views

PATHS = [
    path("accounts/sso/", views.find, name="sso_find"),
    path("accounts/sso/<slug:slug>", views.start, name="sso"),
    path("accounts/sso/<slug:slug>/callback", views.callback, name="sso_callback"),
    path("accounts/sso/<slug:slug>/prove", views.prove, name="sso_prove"),
    path("accounts/sso/<slug:slug>/connect", views.connecting, name="sso_connect"),
]
