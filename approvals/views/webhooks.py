"""Who outside is told: for those who administer the tenant."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final
from uuid import UUID

from django.forms import Form
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from approvals.forms import ChatChangeForm, ChatForm, Flawed, WebhookForm
from approvals.pages.addresses import address
from approvals.pages.chats import NEW, chat_as_typed
from approvals.pages.frame import frame
from approvals.pages.index import read_index
from approvals.pages.webhooks import (
    delivery_view,
    form_as_typed,
    webhook_view,
    webhooks_view,
)
from approvals.presentation.shell import Notice, Shell
from approvals.presentation.webhooks import ChatForm as ChatFormView
from approvals.presentation.webhooks import WebhookForm as WebhookFormView
from approvals.services.chats import add_chat, change_chat
from approvals.services.webhooks import (
    change_webhook,
    create_webhook,
    end_former_secrets,
    ping_webhook,
    replay_delivery,
    rotate_secret,
    switch_webhook,
)
from approvals.views.request import DeskRequest, missing_is_404, viewer_of
from kernel.problems import NOT_FOUND, Problem
from kernel.scope import tenant_transaction
from tenants.access import ADMINISTRATORS
from tenants.pages import member_page

LOOKING: Final = ["GET", "HEAD", "POST"]
type Typed = Callable[[], WebhookFormView | ChatFormView]
"""Makes a form again as it was typed, in the tenant's scope."""

CHAT: Final = "chat"  # what the field `format` says; a webhook's is without one


@member_page(roles=ADMINISTRATORS)
@require_http_methods(LOOKING)
def webhooks(request: DeskRequest) -> HttpResponse:
    """GET webhooks: all of them. POST: add one, and show its secret once."""
    if request.method != "POST":
        return _show_all(request)
    if request.POST.get("format") == CHAT:
        return _add_chat(request)
    form = WebhookForm(request.POST)
    try:
        made = create_webhook(**_acting(request), **_typed(form))
    except (Problem, Flawed) as error:
        return _show_all(request, partial(_again, request, error))
    return _show(request, made.webhook.id, secret=made.secret)


@member_page(roles=ADMINISTRATORS)
@require_http_methods(LOOKING)
def webhook(request: DeskRequest, id: UUID) -> HttpResponse:
    """GET webhooks/{id}: its messages. POST: one of `ACTS`, or change what is set."""
    if request.method != "POST":
        return _show(request, id)
    act = request.POST.get("act", "")
    if act == "change":
        is_chat = request.POST.get("format") == CHAT
        return _change_chat(request, id) if is_chat else _change(request, id)
    if act == "rotate":
        with missing_is_404():
            made = rotate_secret(**_acting(request), webhook_id=id)
        return _show(request, id, secret=made.secret)
    return _act(request, id, act)


@member_page(roles=ADMINISTRATORS)
@require_http_methods(LOOKING)
def delivery(request: DeskRequest, id: UUID) -> HttpResponse:
    """GET deliveries/{id}: one message and each try. POST: send it again."""
    notice, status = None, 200
    if request.method == "POST":
        try:
            with missing_is_404():
                replay_delivery(**_acting(request), delivery_id=id)
        except Problem as problem:
            notice, status = _told(problem), problem.status
        else:
            return HttpResponseRedirect(address("delivery", request.member.slug, id))
    with missing_is_404(), tenant_transaction(request.member.tenant_id):
        shown = delivery_view(request.member.slug, id, notice=notice)
        context = {"shell": _shell(request), "delivery": shown}
    return render(request, "approvals/delivery.html", context, status=status)


def _switch(enabled: bool) -> Callable[..., object]:
    return lambda **given: switch_webhook(**given, enabled=enabled)


ACTS: Final[Mapping[str, Callable[..., object]]] = {
    "ping": ping_webhook,
    "enable": _switch(True),
    "disable": _switch(False),
    "end_former": end_former_secrets,
}


def _act(request: DeskRequest, id: UUID, act: str) -> HttpResponse:
    try:
        with missing_is_404():
            if act not in ACTS:
                raise NOT_FOUND()
            ACTS[act](**_acting(request), webhook_id=id)
    except Problem as problem:
        return _show(request, id, notice=_told(problem), status=problem.status)
    return HttpResponseRedirect(address("webhook", request.member.slug, id))


def _change(request: DeskRequest, id: UUID) -> HttpResponse:
    form = WebhookForm(request.POST)
    try:
        with missing_is_404():
            change_webhook(**_acting(request), webhook_id=id, **_typed(form))
    except (Problem, Flawed) as error:
        return _show(request, id, partial(_again, request, error), status=422)
    return HttpResponseRedirect(address("webhook", request.member.slug, id))


def _add_chat(request: DeskRequest) -> HttpResponse:
    try:
        with missing_is_404():
            made = add_chat(**_acting(request), **_typed(ChatForm(request.POST)))
    except (Problem, Flawed) as error:
        return _show_all(request, partial(_chat_again, request, error))
    return HttpResponseRedirect(address("webhook", request.member.slug, made.id))


def _change_chat(request: DeskRequest, id: UUID) -> HttpResponse:
    form = ChatChangeForm(request.POST)
    try:
        with missing_is_404():
            change_chat(**_acting(request), webhook_id=id, **_typed(form))
    except (Problem, Flawed) as error:
        return _show(request, id, partial(_chat_again, request, error, id), status=422)
    return HttpResponseRedirect(address("webhook", request.member.slug, id))


def _acting(request: DeskRequest) -> dict[str, Any]:
    return {"tenant_id": request.member.tenant_id, "by": request.member.member_id}


def _typed(form: Form) -> dict[str, Any]:
    """What the verb takes. Raises `Flawed` where the form itself is."""
    if not form.is_valid():
        raise Flawed({name: str(said[0]) for name, said in form.errors.items()})
    return form.cleaned_data


def _again(request: DeskRequest, error: Problem | Flawed) -> WebhookFormView:
    typed, types = request.POST.dict(), request.POST.getlist("event_types")
    return form_as_typed(request.path, typed, types, _errors(error))


def _chat_again(
    request: DeskRequest, error: Problem | Flawed, id: UUID = NEW
) -> ChatFormView:
    typed, types = request.POST.dict(), request.POST.getlist("event_types")
    return chat_as_typed(request.path, typed, types, _errors(error), id)


def _errors(error: Problem | Flawed) -> Mapping[str, str]:
    if isinstance(error, Flawed):
        return error.errors
    return {(error.pointer or "").lstrip("/"): error.detail}


def _told(problem: Problem) -> Notice:
    return Notice(
        title=problem.title,
        sentence=problem.detail,
        code=problem.code,
        tone="bad",
        icon="warn",
    )


def _show_all(request: DeskRequest, form: Typed | None = None) -> HttpResponse:
    with tenant_transaction(request.member.tenant_id):
        shown = webhooks_view(request.member.slug, form() if form else None)
        context = {"shell": _shell(request), "webhooks": shown}
    status = 422 if form else 200
    return render(request, "approvals/webhooks.html", context, status=status)


def _show(
    request: DeskRequest,
    id: UUID,
    form: Typed | None = None,
    *,
    status: int = 200,
    **shown: Any,
) -> HttpResponse:
    before = request.GET.get("before", "")
    with missing_is_404(), tenant_transaction(request.member.tenant_id):
        typed = form() if form else None
        view = webhook_view(request.member.slug, id, before=before, form=typed, **shown)
        context = {"shell": _shell(request), "webhook": view}
    return render(request, "approvals/webhook.html", context, status=status)


def _shell(request: DeskRequest) -> Shell:
    viewer = viewer_of(request)
    return frame(request.user, viewer, read_index(viewer), place="webhooks")
