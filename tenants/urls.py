"""The addresses outside of any tenant."""

from django.urls import include, path

from tenants import invited, views

urlpatterns = [
    path("", views.choose, name="home"),
    path("start", views.start, name="start"),
    path("invitations/<slug:token>", invited.invitation, name="invitation"),
    path("accounts/", include("tenants.signin.urls")),
]
