"""The pages of signing in with a tenant's own provider."""

import time
from collections.abc import Callable
from functools import wraps
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID

from allauth.account.adapter import get_adapter
from allauth.account.decorators import reauthentication_required
from allauth.account.internal.flows.login import record_authentication
from allauth.core.internal import ratelimit
from django.conf import settings
from django.db import connection
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from kernel.problems import NOT_FOUND, Problem, declare
from kernel.scope import tenant_transaction
from oversight.sso import flow, provider, tokens
from oversight.sso.flow import Begun, Purpose
from tenants.access import DOOR, entered_by, open_member
from tenants.authentication import SINGLE_SIGN_ON
from tenants.services.entering import ACCOUNT_EXISTS, Told, connect, enter
from tenants.services.names import is_slug
from tenants.services.single_sign_on import Provider, provider_of

BACKEND: Final = "allauth.account.auth_backends.AuthenticationBackend"
SLACK: Final = 30.0  # seconds between a provider's proof and its token

REFUSED: Final = declare(
    "sso.refused", status=403, title="This sign-in proves nothing here"
)
NOT_BEGUN: Final = declare(
    "sso.not_begun",
    status=400,
    title="This sign-in was not begun here, or took too long",
)
TOO_MANY: Final = declare("sso.too_many", status=429, title="Too many sign-ins at once")

type View = Callable[..., HttpResponse]


def told_plainly(view: View) -> View:
    """A problem as a page; what does not exist as everybody's 404."""

    @wraps(view)
    def page(request: HttpRequest, slug: str, **rest: Any) -> HttpResponse:
        try:
            return view(request, slug, **rest)
        except Problem as problem:
            if problem.code == NOT_FOUND.code:
                raise Http404 from None
            return _told(request, slug, problem)

    return never_cache(page)


@require_safe
@never_cache
def find(request: HttpRequest) -> HttpResponse:
    """GET accounts/sso/?slug=: a link to that tenant's provider, or a form that asks.

    A page and no redirect: forms here lead to no other origin.
    """
    return _confirmed(request, request.GET.get("slug", "").strip().lower())


@require_safe
@told_plainly
def start(request: HttpRequest, slug: str) -> HttpResponse:
    """GET accounts/sso/{slug}: off to the tenant's provider. `link` makes a new member.

    Whoever was sent here by another site says on a page of ours that they mean it: their
    provider may sign them in unasked, as somebody whom that site chose.
    """
    if _sent_from_elsewhere(request) or _tenant(slug) is None:
        return _confirmed(request, slug)
    onward = _onward(request, _home(slug))
    return redirect(_asking(request, slug, Purpose.ENTER, onward, _link(request)))


@require_safe
@told_plainly
def prove(request: HttpRequest, slug: str) -> HttpResponse:
    """GET accounts/sso/{slug}/prove: off to prove again who it is, and back to `next`.

    By a page that leads on by itself: a form of ours may have led here, and forms lead to
    no other origin.
    """
    if entered_by(request) is None:
        raise NOT_FOUND()
    open_member(request, slug)
    href = _asking(request, slug, Purpose.PROVE, _onward(request, _home(slug)))
    return render(request, "sso/prove.html", {"href": href})


@require_http_methods(["GET", "HEAD", "POST"])
@told_plainly
@reauthentication_required  # type: ignore[untyped-decorator]  # allauth is untyped
def connecting(request: HttpRequest, slug: str) -> HttpResponse:
    """accounts/sso/{slug}/connect: for a member who just proved it by other means.

    POST, with a token of ours, begins it: nobody is connected by following a link.
    """
    member = _own(request, slug)
    href = ""
    if request.method == "POST":
        href = _asking(request, slug, Purpose.CONNECT, _home(slug))
    elif _tenant(slug) is None:
        raise NOT_FOUND()
    return render(
        request, "sso/connect.html", {"tenant": member.tenant_name, "href": href}
    )


@require_safe
@told_plainly
def callback(request: HttpRequest, slug: str) -> HttpResponse:
    """GET accounts/sso/{slug}/callback: what the provider answered, to this tenant only."""
    begun = flow.take(request, request.GET.get("state", "")[:200])
    if begun is None or begun.slug != slug:
        raise NOT_BEGUN("Begin again.")
    asked = _provider(slug)
    if (asked.issuer, asked.client_id) != (begun.issuer, begun.client_id):
        raise NOT_BEGUN("The tenant's provider was changed meanwhile.")
    claims = _claims(request, slug, begun, asked)
    told = tokens.told_by(claims, asked.groups_claim)
    return ENDS[Purpose(begun.purpose)](
        request, begun, asked, told, _age(claims, begun)
    )


def _claims(
    request: HttpRequest, slug: str, begun: Begun, asked: Provider
) -> dict[str, Any]:
    known = provider.published(asked)
    _refuse_answer(request, asked, known)
    token = provider.id_token(
        asked,
        known,
        code=request.GET.get("code", ""),
        verifier=begun.verifier,
        redirect=_callback(slug),
    )
    try:
        return dict(
            tokens.checked_claims(
                token,
                provider.signing_keys(asked, known),
                issuer=asked.issuer,
                client_id=asked.client_id,
                nonce=begun.nonce,
            )
        )
    except tokens.TokenRefused as refused:
        raise REFUSED(f"The ID token is refused. {refused}") from refused


def _refuse_answer(
    request: HttpRequest, asked: Provider, known: provider.Published
) -> None:
    """An error, or an answer of another provider than was asked (RFC 9207)."""
    named = request.GET.get("iss")
    if named != asked.issuer and (named is not None or known.names_itself):
        raise REFUSED("Another provider answered than was asked.")
    if "error" in request.GET or not request.GET.get("code"):
        raise REFUSED("The provider did not sign you in.")


def _age(claims: dict[str, Any], begun: Begun) -> float | None:
    """Seconds since the person proved it. A proof must be younger than its question.

    Both are durations, each by one clock, so that no clock has to be right.
    """
    try:
        age = tokens.authenticated_ago(claims)
    except tokens.TokenRefused as refused:
        raise REFUSED(f"{refused}") from refused
    fresh = age is not None and age <= begun.ago() + SLACK
    if begun.purpose != Purpose.ENTER and not fresh:
        raise REFUSED("The provider did not ask you again who you are (auth_time).")
    return age


def _enter(
    request: HttpRequest, begun: Begun, asked: Provider, told: Told, age: float | None
) -> HttpResponse:
    entered = enter(tenant_id=asked.tenant_id, told=told, link=begun.link)
    request.session.flush()  # whoever was here before
    request.session[DOOR] = str(entered.identity_id)
    entered.user.backend = BACKEND
    _record(request, entered.user, age)
    get_adapter(request).login(request, entered.user)
    return redirect(begun.onward)


def _prove(
    request: HttpRequest, begun: Begun, asked: Provider, told: Told, age: float | None
) -> HttpResponse:
    """The same identity as the session's, and nobody else's."""
    member = open_member(request, begun.slug)
    entered = enter(tenant_id=asked.tenant_id, told=told, admit_new=False)
    if entered.identity_id != member.identity:
        raise REFUSED("Somebody else answered than is signed in.")
    _record(request, request.user, age, reauthenticated=True)
    return redirect(begun.onward)


def _connect(
    request: HttpRequest, begun: Begun, asked: Provider, told: Told, age: float | None
) -> HttpResponse:
    member = _own(request, begun.slug)
    connect(tenant_id=asked.tenant_id, member_id=member.member_id, told=told)
    return render(
        request, "sso/connect.html", {"tenant": member.tenant_name, "done": 1}
    )


ENDS: Final = {
    Purpose.ENTER: _enter,
    Purpose.PROVE: _prove,
    Purpose.CONNECT: _connect,
}


def _record(request: HttpRequest, user: Any, age: float | None, **more: Any) -> None:
    """When it was proved; where the provider does not say, long ago."""
    at = 0.0 if age is None else time.time() - age
    record_authentication(request, user, method=SINGLE_SIGN_ON, at=at, **more)


def _asking(
    request: HttpRequest, slug: str, purpose: Purpose, onward: str, link: str = ""
) -> str:
    """The address of the provider's own page, once the sign-in is remembered."""
    if not ratelimit.consume(
        request, app="allauth.account", action="single_sign_on", limit_get=True
    ):
        raise TOO_MANY("Wait a minute.")
    asked = _provider(slug)
    known = provider.published(asked)
    state, begun = flow.begin(
        request,
        slug=slug,
        issuer=asked.issuer,
        client_id=asked.client_id,
        purpose=purpose,
        onward=onward,
        link=link,
    )
    return flow.question(
        begun, endpoint=known.authorization, state=state, redirect=_callback(slug)
    )


def _confirmed(request: HttpRequest, slug: str) -> HttpResponse:
    """The page on which people see whose sign-in it is before it begins."""
    found = bool(slug) and _tenant(slug) is not None
    kept = {"next": _onward(request, ""), "link": _link(request)}
    kept = {name: value for name, value in kept.items() if value}
    shown = {
        "slug": slug if is_slug(slug) else "",  # nothing else is worth repeating
        "unknown": bool(slug) and not found,
        "href": f"{reverse('sso', args=[slug])}?{urlencode(kept)}" if found else "",
        "kept": kept,
    }
    status = 404 if shown["unknown"] else 200
    return render(request, "sso/find.html", shown, status=status)


def _sent_from_elsewhere(request: HttpRequest) -> bool:
    """A sibling's page is no page of ours either. What a person typed is theirs."""
    return request.headers.get("Sec-Fetch-Site") in {"cross-site", "same-site"}


def _own(request: HttpRequest, slug: str) -> Any:
    """Their membership by a password; who came by a provider has one already."""
    if entered_by(request) is not None:
        raise NOT_FOUND()
    return open_member(request, slug)


def _provider(slug: str) -> Provider:
    tenant_id = _tenant(slug)
    if tenant_id is None:
        raise NOT_FOUND()
    with tenant_transaction(tenant_id):
        return provider_of(tenant_id)


def _tenant(slug: str) -> UUID | None:
    """The tenant of that slug, if it has a provider. What is no slug is nobody's."""
    if not is_slug(slug):
        return None
    with connection.cursor() as cursor:
        cursor.execute("SELECT keyturn_single_sign_on(%s)", [slug])
        found: UUID | None = cursor.fetchone()[0]
    return found


def _told(request: HttpRequest, slug: str, problem: Problem) -> HttpResponse:
    shown = {
        "problem": problem,
        "again": reverse("sso", args=[slug]),
        "exists": problem.code == ACCOUNT_EXISTS.code,
        "connect": reverse("sso_connect", args=[slug]),
    }
    return render(request, "sso/refused.html", shown, status=problem.status)


def _link(request: HttpRequest) -> str:
    """The secret of a link; what is none opens nothing."""
    link = request.GET.get("link", "")[:100]
    return link if link.isprintable() else ""


def _onward(request: HttpRequest, otherwise: str) -> str:
    """A path of ours, and nothing that a browser could take for more."""
    wanted = request.GET.get("next", "")
    plain = wanted.startswith("/") and wanted.isprintable() and len(wanted) <= 2_000
    if plain and url_has_allowed_host_and_scheme(wanted, None):
        return wanted
    return otherwise


def _home(slug: str) -> str:
    return reverse("tenant", args=[slug])


def _callback(slug: str) -> str:
    """The redirect URI: by the configured address, whatever host a request names."""
    return settings.BASE_URL.rstrip("/") + reverse("sso_callback", args=[slug])
