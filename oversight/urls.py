"""Addresses of the pages that look back."""

from django.urls import path

from oversight import views

urlpatterns = [
    path("t/<slug:slug>/runs", views.runs, name="runs"),
    path("t/<slug:slug>/runs/<uuid:id>", views.run, name="run"),
    path("t/<slug:slug>/drills", views.drills, name="drills"),
]
