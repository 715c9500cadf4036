"""Addresses of this app: the agents' door, and the reviewers' pages."""

from django.urls import path

from approvals.api import views as api
from approvals.wait.approval import approval

API = "api/v1"

urlpatterns = [
    path(f"{API}/runs/<uuid:id>/pause", api.PauseView.as_view()),
    path(f"{API}/approvals", api.ApprovalsView.as_view()),
    path(f"{API}/approvals/<uuid:id>", approval, name="approval"),
    path(f"{API}/approvals/<uuid:id>/withdraw", api.WithdrawView.as_view()),
    path(f"{API}/approvals/<uuid:id>/revise", api.ReviseView.as_view()),
    path(f"{API}/approvals/<uuid:id>/redeem", api.RedeemView.as_view()),
    path(f"{API}/approvals/<uuid:id>/decisions", api.DecisionsView.as_view()),
    path(f"{API}/approvals/<uuid:id>/revoke", api.RevokeView.as_view()),
    path(f"{API}/effects/<uuid:id>/report", api.ReportView.as_view()),
]
