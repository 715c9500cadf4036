"""A tenant's own provider: what it is, whom it lets in, and into which groups."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from django.http import HttpResponse
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from approvals.forms import Flawed
from approvals.views.request import DeskRequest
from kernel.problems import NOT_FOUND, Problem
from oversight.administration.answering import (
    LOOKING,
    acting,
    again,
    chosen,
    said,
    seen,
    status_of,
    told,
)
from oversight.forms import (
    JoinLinkForm,
    MappingForm,
    OneLinkForm,
    OneMappingForm,
    SingleSignOnForm,
)
from oversight.pages.single_sign_on import single_sign_on_view
from oversight.showing import page
from tenants.access import ADMINISTRATORS
from tenants.models import Role
from tenants.pages import member_page
from tenants.services.join_links import make_join_link, revoke_join_link
from tenants.services.single_sign_on import (
    allow_passwords,
    configure,
    end_single_sign_on,
    map_group,
    refuse_passwords,
    unmap_group,
)


@member_page(roles=ADMINISTRATORS)
@require_http_methods(LOOKING)
@sensitive_post_parameters("secret")
def settings(request: DeskRequest) -> HttpResponse:
    """GET single-sign-on. POST: one of `ACTS`, or `link`, which shows a link once."""
    if request.method != "POST":
        return _show(request)
    act = request.POST.get("act", "")
    try:
        if act not in ACTS:
            raise NOT_FOUND()
        link = ACTS[act](request)
    except (Problem, Flawed) as error:
        return _refused(request, act, error)
    if link is not None:
        return _show(request, link=link)
    return seen(request, "single_sign_on")


def _refused(request: DeskRequest, act: str, error: Problem | Flawed) -> HttpResponse:
    status = status_of(error)
    if isinstance(error, Problem) and act not in TYPED:
        return _show(request, notice=told(error), status=status)
    form = again(act, request.POST, error)
    form = type(form)(
        act=act,
        typed={name: form.typed[name] for name in form.typed if name != "secret"},
        ticked=form.ticked,
        errors=form.errors,
    )
    return _show(request, form=form, status=status)


def _configure(request: DeskRequest) -> None:
    given = said(SingleSignOnForm(request.POST))
    configure(**acting(request), **{**given, "role": Role(given["role"])})


def _end(request: DeskRequest) -> None:
    end_single_sign_on(**acting(request))


def _refuse(request: DeskRequest) -> None:
    refuse_passwords(**acting(request), through=request.member.identity)


def _allow(request: DeskRequest) -> None:
    allow_passwords(**acting(request))


def _map(request: DeskRequest) -> None:
    given = said(MappingForm(request.POST))
    map_group(**acting(request), value=given["value"], group_id=given["group"])


def _unmap(request: DeskRequest) -> None:
    mapping = chosen(OneMappingForm(request.POST))["mapping"]
    unmap_group(**acting(request), mapping_id=mapping)


def _link(request: DeskRequest) -> str:
    given = said(JoinLinkForm(request.POST))
    role = Role(given["role"])
    return make_join_link(**acting(request), name=given["name"], role=role)


def _revoke_link(request: DeskRequest) -> None:
    link = chosen(OneLinkForm(request.POST))["link"]
    revoke_join_link(**acting(request), link_id=link)


ACTS: Final[Mapping[str, Callable[[DeskRequest], str | None]]] = {
    "configure": _configure,
    "end": _end,
    "refuse": _refuse,
    "allow": _allow,
    "map": _map,
    "unmap": _unmap,
    "link": _link,
    "revoke_link": _revoke_link,
}
TYPED: Final = frozenset({"configure", "map", "link"})  # the others are buttons


def _show(request: DeskRequest, *, status: int = 200, **shown: Any) -> HttpResponse:
    return page(
        request,
        "single_sign_on.html",
        lambda _: {"sso": single_sign_on_view(request.member, **shown)},
        place="people",
        status=status,
    )
