"""The pages before a tenant: the first run, and the choice of a tenant."""

from allauth.account.adapter import get_adapter
from allauth.account.internal.flows.login import record_authentication
from allauth.core import ratelimit
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_safe

from kernel.problems import Problem
from tenants.access import (
    Membership,
    any_tenant,
    entered_by,
    memberships,
    open_memberships,
)
from tenants.forms import FirstRunForm
from tenants.models import User
from tenants.services import FirstRun, first_run
from tenants.services.tenancy import NOT_FIRST

BACKEND = "allauth.account.auth_backends.AuthenticationBackend"


@require_safe
@never_cache
def choose(request: HttpRequest) -> HttpResponse:
    """`/`: to the only tenant, or a choice, or an explanation that there is none."""
    if not request.user.is_authenticated:
        return redirect_to_login("/") if any_tenant() else redirect("start")
    found = open_memberships(request)
    closed = _closed(request)
    if len(found) == 1 and not closed:
        return redirect(home_of(found[0].slug))
    choices = [*_choices(found), *_choices(closed)]
    return render(request, "tenants/choose.html", {"memberships": choices})


@require_http_methods(["GET", "HEAD", "POST"])
@sensitive_post_parameters("password")
@never_cache
def start(request: HttpRequest) -> HttpResponse:
    """`/start`: exists only while the installation has no tenant."""
    if any_tenant():
        raise Http404
    form = FirstRunForm(request.POST or None)
    if request.method != "POST":
        return _asked(request, form)
    if not ratelimit.consume(request, action="setup_code"):
        # Not the form as it came: that would say whether the code is right.
        typed = {k: v for k, v in request.POST.items() if k not in {"code", "password"}}
        kept = FirstRunForm(initial=typed)
        return _asked(request, kept, too_many=True, status=429)
    return _begin(request, form) if form.is_valid() else _asked(request, form)


def home_of(slug: str) -> str:
    """Where a member's work begins. (The address is of an app above this one.)"""
    return f"/t/{slug}/"


def _begin(request: HttpRequest, form: FirstRunForm) -> HttpResponse:
    try:
        begun = first_run(**form.arguments())
    except Problem as problem:
        if problem.code == NOT_FIRST.code:
            raise Http404 from None
        form.add_error(None, problem.title)
        return _asked(request, form)
    sign_in(request, begun.user)
    return render(request, "first_run.html", _key_shown_once(begun))


def _asked(
    request: HttpRequest,
    form: FirstRunForm,
    *,
    too_many: bool = False,
    status: int = 200,
) -> HttpResponse:
    shown = {"form": form, "action": request.path, "too_many": too_many}
    return render(request, "first_run.html", shown, status=status)


def sign_in(request: HttpRequest, user: User) -> None:
    """As the sign-in page does it: recorded, with the time and the method."""
    user.backend = BACKEND
    record_authentication(request, user, method="password")
    get_adapter(request).login(request, user)


def _key_shown_once(begun: FirstRun) -> dict[str, str]:
    return {
        "api_key": begun.issued.text,
        "agent": begun.agent.name,
        "queue_href": home_of(begun.founded.tenant.slug),
    }


def _closed(request: HttpRequest) -> list[Membership]:
    """Tenants that take no passwords: their pages lead to their provider."""
    if entered_by(request) is not None:
        return []
    return [one for one in memberships(request.user) if not one.passwords]


def _choices(found: list[Membership]) -> list[dict[str, str]]:
    return [
        {"href": home_of(one.slug), "tenant": one.tenant_name, "role": one.role.label}
        for one in found
    ]
