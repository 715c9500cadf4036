"""Proving again who one is, in the very form that decides."""

from allauth.account.internal.flows.reauthentication import reauthenticate_by_password
from allauth.core import ratelimit

from approvals.forms import Flawed
from approvals.views.request import DeskRequest
from tenants.authentication import person_of
from tenants.signin.forms import ReauthenticateForm


def prove_again(request: DeskRequest) -> None:
    """Take the form's password or code, if it has one; the session then says when.

    For whoever has a second factor a password proves nothing, and is not looked at.
    Raises `Flawed` beside the field. Guesses are limited like those of signing in.
    """
    if request.member.identity is not None:
        return  # the provider alone proves it, on a page of its own
    field = "code" if request.member.factors else "password"
    given = request.POST.get(field)
    if not given:
        return
    if not ratelimit.consume(request, action="reauthenticate", user=request.user):
        raise Flawed({field: "Too many tries. Wait a few minutes."})
    by_code(request, given) if request.member.factors else by_password(request, given)
    request.person = person_of(request, request.user, request.member)


def by_password(request: DeskRequest, password: str) -> None:
    if not request.user.check_password(password):
        raise Flawed({"password": "This is not your password."})
    reauthenticate_by_password(request)


def by_code(request: DeskRequest, code: str) -> None:
    form = ReauthenticateForm({"code": code}, user=request.user)
    if not form.is_valid():
        raise Flawed({"code": " ".join(form.errors["code"])})
    form.save()
