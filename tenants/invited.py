"""The page of an invitation: looking accepts nothing, and neither does a mail scanner."""

from django.contrib.auth.views import redirect_to_login
from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from kernel.problems import Problem
from tenants.access import entered_by
from tenants.forms import NameForm, NewcomerForm
from tenants.models import Member, User
from tenants.services import Offer, accept_as_newcomer, accept_invitation, offer_of
from tenants.services.accepting import ENDED
from tenants.views import home_of, sign_in

PAGE = "tenants/invitation.html"
KNOWN = "Somebody signs in with this address already. If it is you, sign in and accept."


@require_http_methods(["GET", "HEAD", "POST"])
@sensitive_post_parameters("password")
@never_cache
def invitation(request: HttpRequest, token: str) -> HttpResponse:
    """GET: what is offered, to whoever holds the link. POST: `accept`, `join`, `enter`."""
    try:
        return _answer(request, token, offer_of(token))
    except Problem as problem:
        if problem.code != ENDED.code:
            raise
        return render(request, PAGE, {"ended": True}, status=404)


def _answer(request: HttpRequest, token: str, offer: Offer) -> HttpResponse:
    act = request.POST.get("act") if request.method == "POST" else None
    if act == "enter":
        return redirect_to_login(request.path)
    if not request.user.is_authenticated:
        return _as_newcomer(request, token, offer, asked=act == "join")
    # A provider's word is good for its tenant, and accepts nothing elsewhere.
    if entered_by(request) is not None or not offer.is_for(request.user):
        return render(request, PAGE, {"offer": offer, "stranger": True}, status=403)
    return _as_known(request, token, offer, asked=act == "accept")


def _as_known(
    request: HttpRequest, token: str, offer: Offer, *, asked: bool
) -> HttpResponse:
    assert isinstance(request.user, User)
    initial = {"name": offer.name or request.user.name}
    form = NameForm(request.POST if asked else None, initial=initial)
    if not (asked and form.is_valid()):
        return _shown(request, offer, form)
    try:
        accept_invitation(token=token, user_id=request.user.id, **form.cleaned_data)
    except Problem as problem:
        return _refused(request, offer, form, problem)
    return redirect(home_of(offer.slug))


def _as_newcomer(
    request: HttpRequest, token: str, offer: Offer, *, asked: bool
) -> HttpResponse:
    given = request.POST if asked else None
    form = NewcomerForm(given, initial={"name": offer.name}, email=offer.email)
    if not (asked and form.is_valid()):
        return _shown(request, offer, form)
    try:
        member = accept_as_newcomer(token=token, **form.cleaned_data)
    except Problem as problem:
        return _refused(request, offer, form, problem)
    return _entered(request, offer, member)


def _entered(request: HttpRequest, offer: Offer, member: Member) -> HttpResponse:
    sign_in(request, member.user)
    return redirect(home_of(offer.slug))


def _refused(
    request: HttpRequest, offer: Offer, form: Form, problem: Problem
) -> HttpResponse:
    """Beside the form; what ended meanwhile is told as if it had never been."""
    if problem.code == ENDED.code:
        raise problem
    about = "name" if problem.code == "name_invalid" else None
    form.add_error(about, KNOWN if problem.code == "email_taken" else problem.detail)
    return _shown(request, offer, form)


def _shown(request: HttpRequest, offer: Offer, form: Form) -> HttpResponse:
    status = 422 if form.errors else 200
    return render(request, PAGE, {"offer": offer, "form": form}, status=status)
