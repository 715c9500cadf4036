"""Where a person is signed in, and ending it there."""

from typing import Final

from allauth.usersessions.internal.flows.sessions import end_sessions
from allauth.usersessions.models import UserSession
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from tenants.access import DOOR, open_memberships
from tenants.services.signing_in import record_own

OTHERS: Final = "others"


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def devices(request: HttpRequest) -> HttpResponse:
    """`/accounts/devices/`. POST `device` (a number, or `others`) signs out there."""
    if request.method == "POST":
        _end(request, _named(request))
        return redirect("usersessions_list")
    rows = _shown(request, UserSession.objects.purge_and_list(request.user))
    rows.sort(key=lambda one: one.created_at, reverse=True)
    return render(request, "usersessions/usersession_list.html", {"devices": rows})


def _shown(request: HttpRequest, rows: list[UserSession]) -> list[UserSession]:
    """All of them; for whoever came by a provider, those that began as this one did."""
    identity = request.session.get(DOOR)
    if identity is None:
        return rows
    return [one for one in rows if one.data.get(DOOR) == identity]


def _named(request: HttpRequest) -> list[UserSession]:
    """The person's own, and nobody else's. Raises Http404."""
    rows = UserSession.objects.filter(user_id=request.user.pk)
    seen = [one.pk for one in _shown(request, list(rows))]
    own = rows.filter(pk__in=seen)
    name = request.POST.get("device", "")
    if name == OTHERS:
        return list(own.exclude(session_key=request.session.session_key))
    if not name.isascii() or not name.isdigit() or len(name) > 18:
        raise Http404
    found = list(own.filter(pk=int(name)))
    if not found:
        raise Http404
    return found


def _end(request: HttpRequest, sessions: list[UserSession]) -> None:
    if not sessions:
        return
    for membership in open_memberships(request):
        record_own(membership, "member.signed_out", devices=len(sessions))
    end_sessions(request, sessions)
