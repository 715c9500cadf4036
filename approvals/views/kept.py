"""Leaving a form to prove who one is elsewhere, and finding it as it was left.

What was typed waits in the person's own session: one form, for half an hour.
"""

import time
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpResponse
from django.urls import reverse

from approvals.pages.addresses import address
from approvals.pages.selection import Selection
from approvals.problems import NOT_FOUND
from approvals.views.request import DeskRequest

KEY: Final = "typed"  # of a session
LONGEST: Final = 30 * 60  # seconds
PROVE: Final = "prove"
"""The button of a form that leads elsewhere."""
DROPPED: Final = frozenset({"csrfmiddlewaretoken", "password", "code", PROVE})


def leave(request: DeskRequest, id: UUID, back_to: str) -> HttpResponse:
    """Keep what was typed, and go where the person's passkey or provider is asked.

    `back_to` names the request's address that finds it again.
    """
    values = {k: str(v) for k, v in request.POST.items() if k not in DROPPED}
    form = [back_to, str(id)]
    request.session[KEY] = {"form": form, "at": time.time(), "values": values}
    query = Selection.read(request.GET).query
    back = urlencode({"next": address(back_to, request.member.slug, id, query=query)})
    there = f"{_place(request)}?{back}"
    return HttpResponse(status=303, headers={"Location": there})


def take(request: DeskRequest, id: UUID, back_to: str) -> Mapping[str, str] | None:
    """What was typed for this request and left, once."""
    kept = request.session.get(KEY)
    if kept is None or kept["form"] != [back_to, str(id)]:
        return None
    del request.session[KEY]
    values: Mapping[str, str] = kept["values"]
    return values if 0 <= time.time() - kept["at"] <= LONGEST else None


def _place(request: DeskRequest) -> str:
    """Raises `not_found` for whoever proves it in the form itself."""
    if request.member.identity is not None:
        return reverse("sso_prove", args=[request.member.slug])
    if "webauthn" in request.member.factors:
        return reverse("mfa_reauthenticate_webauthn")
    raise NOT_FOUND()
