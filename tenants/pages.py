"""The door of every page at `/t/{slug}/…`: loads and authorises in one call.

    @member_page
    def queue(request: MemberRequest, id: UUID) -> HttpResponse: …

    @member_page(roles=ADMINISTRATORS)
    def people(request: MemberRequest) -> HttpResponse: …

Nobody signed in is sent to sign in, whatever the address; a stranger gets the 404 of a
tenant that does not exist. No transaction is open when the view begins: it opens the
tenant's scope for as long as it reads.
"""

from collections.abc import Callable
from functools import partial, wraps
from inspect import iscoroutinefunction
from typing import Any, Protocol, overload
from urllib.parse import urlencode

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.cache import patch_cache_control

from kernel.offload import offload
from kernel.problems import Problem
from tenants.access import (
    EVERYONE,
    Membership,
    entered_by,
    memberships,
    open_member,
)
from tenants.authentication import person_of
from tenants.models import Role, User
from tenants.principal import Person


class MemberRequest(HttpRequest):
    """A request that `member_page` let through. `user` is the person signed in."""

    user: User
    member: Membership
    """Where they are: tenant, slug and role, for showing."""
    person: Person
    """Who they are: what verbs take."""


type View = Callable[..., Any]


class Decorator(Protocol):
    def __call__(self, view: View, /) -> View: ...


@overload
def member_page(view: View, /) -> View: ...
@overload
def member_page(*, roles: frozenset[Role]) -> Decorator: ...
def member_page(
    view: View | None = None, /, *, roles: frozenset[Role] = EVERYONE
) -> Any:
    """Let members with one of `roles` in, with `request.member` and `.person` set.

    The URL's `slug` is used up. Other members get 403, strangers 404. Works for sync
    and async views; the latter hold neither a thread nor a connection meanwhile.
    """
    if view is None:
        return partial(member_page, roles=roles)
    if iscoroutinefunction(view):
        return _asynchronous(view, roles)

    @wraps(view)
    def page(request: HttpRequest, slug: str, **kwargs: Any) -> HttpResponseBase:
        refused = _admit(request, slug, roles)
        return _private(refused or view(request, **kwargs))

    return page


def _asynchronous(view: View, roles: frozenset[Role]) -> View:
    @wraps(view)
    async def page(request: HttpRequest, slug: str, **kwargs: Any) -> HttpResponseBase:
        refused = await offload(_admit, request, slug, roles)
        return _private(refused or await view(request, **kwargs))

    return page


def _admit(
    request: HttpRequest, slug: str, roles: frozenset[Role]
) -> HttpResponse | None:
    if not request.user.is_authenticated:
        return redirect_to_login(request.get_full_path())
    try:
        member = open_member(request, slug)
    except Problem:
        return _other_entrance(request, slug)
    if member.role not in roles:
        raise PermissionDenied
    request.member = member  # type: ignore[attr-defined]
    request.person = person_of(request, request.user, member)  # type: ignore[attr-defined]
    return None


def _other_entrance(request: HttpRequest, slug: str) -> HttpResponse:
    """To the tenant's own provider, for a member whose password does not open it.

    Raises Http404 for everybody else.
    """
    by_password = entered_by(request) is None
    if by_password and any(one.slug == slug for one in memberships(request.user)):
        again = urlencode({"next": request.get_full_path()})
        return redirect(f"{reverse('sso', args=[slug])}?{again}")
    raise Http404


def _private(response: HttpResponseBase) -> HttpResponseBase:
    """What a tenant's pages show is kept by no cache, shared or not."""
    patch_cache_control(response, private=True, no_store=True)
    return response
