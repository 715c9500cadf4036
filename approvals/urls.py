"""Addresses of this app: the agents' door, and the reviewers' pages."""

from django.urls import path

from approvals.aap import views as aap
from approvals.api import views as api
from approvals.api.contexts import ContextView, SummariesView
from approvals.api.standing import StandingApprovalsView
from approvals.compat import views as compat
from approvals.compat.waiting import hitl_response, human_response
from approvals.stream import stream
from approvals.views.ahead import ahead_page
from approvals.views.break_glass import break_glass_page
from approvals.views.broken import broken_glass, post_review
from approvals.views.context import show_context
from approvals.views.decide import decide_page
from approvals.views.desk import case, home, queue
from approvals.views.edit import edit_page
from approvals.views.leave import leave
from approvals.views.link import link
from approvals.views.notifications import notifications
from approvals.views.remarks import comment_page, take_page
from approvals.views.resolve import resolve_page
from approvals.views.revoke import revoke_page
from approvals.views.saved_views import views
from approvals.views.snooze import snooze_page
from approvals.views.standing import make_page, standing, standing_one
from approvals.views.styleguide import styleguide
from approvals.views.take_back import take_back_page
from approvals.views.together import together
from approvals.views.webhooks import delivery, webhook, webhooks
from approvals.wait.approval import approval
from approvals.wait.events import events

API = "api/v1"
AAP = "api/aap/v1/requests"
PAGES = "t/<slug:slug>"

urlpatterns = [
    path(f"{API}/runs/<uuid:id>/pause", api.PauseView.as_view()),
    path(f"{API}/runs/<uuid:id>/context", ContextView.as_view()),
    path(f"{API}/sessions/<uuid:id>/summaries", SummariesView.as_view()),
    path(f"{API}/approvals", api.ApprovalsView.as_view()),
    path(f"{API}/approvals/<uuid:id>", approval, name="approval"),
    path(f"{API}/approvals/<uuid:id>/withdraw", api.WithdrawView.as_view()),
    path(f"{API}/approvals/<uuid:id>/revise", api.ReviseView.as_view()),
    path(f"{API}/approvals/<uuid:id>/redeem", api.RedeemView.as_view()),
    path(f"{API}/approvals/<uuid:id>/decisions", api.DecisionsView.as_view()),
    path(f"{API}/approvals/<uuid:id>/take-back", api.TakeBackView.as_view()),
    path(f"{API}/approvals/<uuid:id>/revoke", api.RevokeView.as_view()),
    path(f"{API}/standing-approvals", StandingApprovalsView.as_view()),
    path(f"{API}/events", events),
    path(f"{API}/effects/<uuid:id>/report", api.ReportView.as_view()),
    path(f"{API}/compat/hitl-requests", compat.HITLRequestsView.as_view()),
    path(f"{API}/compat/hitl-requests/<uuid:id>", hitl_response),
    path(f"{API}/compat/human-interrupts", compat.HumanInterruptsView.as_view()),
    path(f"{API}/compat/human-interrupts/<uuid:id>", human_response),
    path(f"{API}/compat/resumes", compat.ResumesView.as_view()),
    path(AAP, aap.requests),
    path(f"{AAP}/<uuid:id>", aap.one),
    path(f"{AAP}/<uuid:id>/consume", aap.consumption),
    path(f"{AAP}/<uuid:id>/outcome", aap.outcome),
    path("styleguide", styleguide, name="styleguide"),
    path("r/<uuid:id>", link, name="link"),
    path(f"{PAGES}/", home, name="tenant"),
    path(f"{PAGES}/queue", queue, name="queue"),
    path(f"{PAGES}/queue/<uuid:id>", case, name="case"),
    path(f"{PAGES}/views", views, name="views"),
    path(f"{PAGES}/together", together, name="together"),
    path(f"{PAGES}/requests/<uuid:id>/decide", decide_page, name="decide"),
    path(f"{PAGES}/requests/<uuid:id>/ahead", ahead_page, name="ahead"),
    path(f"{PAGES}/requests/<uuid:id>/edit", edit_page, name="edit"),
    path(f"{PAGES}/requests/<uuid:id>/context", show_context, name="context"),
    path(f"{PAGES}/requests/<uuid:id>/comment", comment_page, name="comment"),
    path(f"{PAGES}/requests/<uuid:id>/take", take_page, name="take"),
    path(f"{PAGES}/requests/<uuid:id>/snooze", snooze_page, name="snooze"),
    path(f"{PAGES}/requests/<uuid:id>/take-back", take_back_page, name="take_back"),
    path(f"{PAGES}/requests/<uuid:id>/revoke", revoke_page, name="revoke"),
    path(
        f"{PAGES}/requests/<uuid:id>/break-glass", break_glass_page, name="break_glass"
    ),
    path(f"{PAGES}/broken-glass", broken_glass, name="broken_glass"),
    path(f"{PAGES}/broken-glass/<uuid:id>", post_review, name="post_review"),
    path(f"{PAGES}/requests/<uuid:id>/resolve", resolve_page, name="resolve"),
    path(f"{PAGES}/leave", leave, name="leave"),
    path(f"{PAGES}/requests/<uuid:id>/standing", make_page, name="standing_make"),
    path(f"{PAGES}/standing", standing, name="standing"),
    path(f"{PAGES}/standing/<uuid:id>", standing_one, name="standing_one"),
    path(f"{PAGES}/stream", stream, name="stream"),
    path(f"{PAGES}/notifications", notifications, name="notifications"),
    path(f"{PAGES}/webhooks", webhooks, name="webhooks"),
    path(f"{PAGES}/webhooks/<uuid:id>", webhook, name="webhook"),
    path(f"{PAGES}/deliveries/<uuid:id>", delivery, name="delivery"),
]
