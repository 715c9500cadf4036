"""Proving again who one is, in the very form that decides."""

from allauth.account.internal.flows.reauthentication import reauthenticate_by_password
from allauth.core import ratelimit

from approvals.forms import Flawed
from approvals.views.request import DeskRequest
from tenants.authentication import person_of


def prove_again(request: DeskRequest) -> None:
    """Take the form's password, if it has one; the session then says when it was.

    Raises `Flawed` beside the field. Guesses are limited like those of signing in.
    """
    password = request.POST.get("password")
    if not password:
        return
    if not ratelimit.consume(request, action="reauthenticate", user=request.user):
        raise Flawed({"password": "Too many tries. Wait a few minutes."})
    if not request.user.check_password(password):
        raise Flawed({"password": "This is not your password."})
    reauthenticate_by_password(request)
    request.person = person_of(request, request.user, request.member)
