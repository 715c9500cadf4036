"""A person's own notifications in the tenant."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from approvals.forms import NotificationsForm
from approvals.pages.frame import frame
from approvals.pages.index import read_index
from approvals.pages.notifications import SAVED, notifications_view
from approvals.services.notifying import Wish, save_notice_settings
from approvals.views.request import DeskRequest, viewer_of
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from tenants.models import Member
from tenants.pages import member_page
from tenants.queries import addresses_of


@member_page
@require_http_methods(["GET", "HEAD", "POST"])
def notifications(request: DeskRequest) -> HttpResponse:
    """GET notifications: what the person is told of. POST: keep it."""
    if request.method != "POST":
        return _show(request)
    form, typed = NotificationsForm(request.POST), request.POST.dict()
    if not form.is_valid():
        errors = {name: str(said[0]) for name, said in form.errors.items()}
        return _show(request, status=422, typed=typed, errors=errors)
    try:
        save_notice_settings(request.person, Wish(**form.cleaned_data))
    except Problem as problem:
        errors = {(problem.pointer or "").lstrip("/"): problem.detail}
        return _show(request, status=problem.status, typed=typed, errors=errors)
    return _show(request, notice=SAVED)


def _show(request: DeskRequest, *, status: int = 200, **shown: Any) -> HttpResponse:
    viewer, member = viewer_of(request), request.member
    with tenant_transaction(member.tenant_id):
        shell = frame(request.user, viewer, read_index(viewer), place="notifications")
        own = Member.objects.select_related("user").get(id=member.member_id)
        address = addresses_of([own])[own.id]
        view = notifications_view(member.slug, own.id, address, **shown)
    context = {"shell": shell, "notifications": view}
    return render(request, "approvals/notifications.html", context, status=status)
