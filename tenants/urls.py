"""The addresses outside of any tenant."""

from django.urls import path

from tenants import views

urlpatterns = [
    path("", views.choose, name="home"),
    path("start", views.start, name="start"),
]
