"""The pages of webhooks, from rows; inside the tenant's scope."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from django.db.models import FETCH_RAISE, Count, OuterRef, Q, QuerySet, Subquery

from approvals.chat import chat_words
from approvals.happenings import EVENT_TYPES
from approvals.models import (
    Webhook,
    WebhookAttempt,
    WebhookDelivery,
    WebhookSecret,
)
from approvals.pages.addresses import address, short_name
from approvals.pages.chats import blank_chat, chat_form
from approvals.presentation.shell import Empty, Notice, Pages
from approvals.presentation.webhooks import (
    AttemptRow,
    ChatForm,
    DeliveryRow,
    DeliveryView,
    TypeChoice,
    WebhookForm,
    WebhookRow,
    WebhooksView,
    WebhookView,
)
from kernel.clock import database_now
from kernel.problems import NOT_FOUND

PAGE: Final = 50
State = WebhookDelivery.State
NOBODY: Final = Empty(
    title="Nobody outside is told",
    sentence="Add an address below, whose messages are signed, or a chat.",
    icon="external",
)


def webhooks_view(
    slug: str, form: WebhookForm | ChatForm | None = None
) -> WebhooksView:
    """All of them, and a form for one more of either format; `form` is one as typed."""
    rows = tuple(_row(one, slug) for one in _counted(Webhook.objects.all()))
    return WebhooksView(
        rows=rows,
        form=form if isinstance(form, WebhookForm) else blank_form(slug),
        chat=form if isinstance(form, ChatForm) else blank_chat(slug),
        empty=None if rows else NOBODY,
    )


def webhook_view(
    slug: str,
    webhook_id: UUID,
    *,
    before: str = "",
    form: WebhookForm | ChatForm | None = None,
    secret: str = "",
    notice: Notice | None = None,
) -> WebhookView:
    """One of them, with its newest messages. Raises `not_found`."""
    webhook = _counted(Webhook.objects.filter(id=webhook_id)).first()
    if webhook is None:
        raise NOT_FOUND("No such webhook.")
    form = form or _form_of(slug, webhook)
    if isinstance(form, ChatForm) != (webhook.format == Webhook.Format.CHAT):
        raise NOT_FOUND("It is of the other format.")
    found, now = _deliveries(webhook, before), database_now()
    return WebhookView(
        back_href=address("webhooks", slug),
        row=_row(webhook, slug),
        why_disabled=webhook.why_disabled,
        resting_until=_ahead(webhook.resting_until, now),
        former_until=_former_until(webhook, now),
        form=form,
        deliveries=tuple(_delivery(one, slug) for one in found[:PAGE]),
        pages=_pages(slug, webhook_id, before, found),
        empty=None if found else _nothing(webhook),
        now=now,
        secret=secret,
        notice=notice,
    )


def delivery_view(
    slug: str, delivery_id: UUID, *, notice: Notice | None = None
) -> DeliveryView:
    """One message and each try. Raises `not_found`."""
    rows = _tried(WebhookDelivery.objects.filter(id=delivery_id))
    delivery = rows.select_related("webhook").first()
    if delivery is None:
        raise NOT_FOUND("No such message.")
    attempts = WebhookAttempt.objects.filter(delivery=delivery).order_by("-created_at")
    return DeliveryView(
        back_href=address("webhook", slug, delivery.webhook_id),
        replay_href=address("delivery", slug, delivery.id),
        is_chat=delivery.webhook.format == Webhook.Format.CHAT,
        row=_delivery(delivery, slug),
        body=delivery.body,
        attempts=tuple(map(_attempt, attempts)),
        may_replay=delivery.state != State.QUEUED and delivery.webhook.enabled,
        now=database_now(),
        notice=notice,
    )


def blank_form(slug: str) -> WebhookForm:
    return WebhookForm(
        action=address("webhooks", slug), types=_choices(EVENT_TYPES), errors={}
    )


def form_as_typed(
    action: str,
    typed: Mapping[str, Any],
    types: Iterable[str],
    errors: Mapping[str, str],
) -> WebhookForm:
    """The form again, with what was typed and what is wrong with it."""
    return WebhookForm(
        action=action,
        url=typed.get("url", ""),
        description=typed.get("description", ""),
        types=_choices(types),
        with_arguments=bool(typed.get("with_arguments")),
        errors=errors,
    )


def _form_of(slug: str, webhook: Webhook) -> WebhookForm | ChatForm:
    if webhook.format == Webhook.Format.CHAT:
        return chat_form(slug, webhook)
    return WebhookForm(
        action=address("webhook", slug, webhook.id),
        url=webhook.url,
        description=webhook.description,
        types=_choices(webhook.event_types),
        with_arguments=webhook.with_arguments,
        errors={},
    )


def _choices(chosen: Iterable[str]) -> tuple[TypeChoice, ...]:
    ticked = set(chosen)
    return tuple(TypeChoice(name=one, chosen=one in ticked) for one in EVENT_TYPES)


def _counted(rows: QuerySet[Webhook]) -> QuerySet[Webhook]:
    """With how many messages wait, and how many were given up."""

    def count(**which: Any) -> Subquery:
        of = WebhookDelivery.objects.filter(webhook_id=OuterRef("id"), **which)
        counted = of.order_by().values("webhook_id").annotate(n=Count("id"))
        return Subquery(counted.values("n"))

    annotated = rows.annotate(
        waiting=count(due_at__isnull=False), dead=count(state=State.DEAD)
    )
    named = annotated.select_related("queue")
    return named.order_by("created_at").fetch_mode(FETCH_RAISE)


def _nothing(webhook: Webhook) -> Empty:
    test = "a test message" if webhook.format == Webhook.Format.CHAT else "a ping"
    return Empty(
        title="Nothing was sent yet",
        sentence=f"Send {test}, or wait for an event.",
        icon="external",
    )


def _row(webhook: Webhook, slug: str) -> WebhookRow:
    state = ("failing" if webhook.failures else "on") if webhook.enabled else "off"
    return WebhookRow(
        href=address("webhook", slug, webhook.id),
        is_chat=webhook.format == Webhook.Format.CHAT,
        url=webhook.url,
        queue=webhook.queue.name if webhook.queue else "",
        description=webhook.description,
        state=state,
        types=len(webhook.event_types),
        waiting=webhook.waiting or 0,  # type: ignore[attr-defined] # annotated above
        dead=webhook.dead or 0,  # type: ignore[attr-defined]
    )


def _deliveries(webhook: Webhook, before: str) -> list[WebhookDelivery]:
    rows = _tried(WebhookDelivery.objects.filter(_older(before), webhook_id=webhook.id))
    return list(rows.order_by("-created_at", "-id")[: PAGE + 1])


def _tried(rows: QuerySet[WebhookDelivery]) -> QuerySet[WebhookDelivery]:
    """With what the last try came to."""
    tries = WebhookAttempt.objects.filter(delivery_id=OuterRef("id"))
    last = tries.order_by("-created_at")[:1]
    return rows.annotate(
        last_status=Subquery(last.values("status")),
        last_code=Subquery(last.values("code")),
    )


def _older(cursor: str) -> Q:
    """Older than the cursor's message; a cursor not of our making is none."""
    at, _, id = cursor.partition(" ")
    try:
        moment, last = datetime.fromisoformat(at), UUID(id)
    except ValueError:
        return Q()
    if moment.tzinfo != UTC:
        return Q()
    return Q(created_at__lt=moment) | Q(created_at=moment, id__lt=last)


def _pages(
    slug: str, webhook_id: UUID, before: str, found: list[WebhookDelivery]
) -> Pages:
    here = address("webhook", slug, webhook_id)
    following = ""
    if len(found) > PAGE:
        last = found[PAGE - 1]
        cursor = f"{last.created_at.isoformat()} {last.id}"
        following = address("webhook", slug, webhook_id, query={"before": cursor})
    return Pages(
        shown=min(len(found), PAGE),
        previous_href=here if before else "",
        next_href=following,
    )


def _delivery(delivery: WebhookDelivery, slug: str) -> DeliveryRow:
    tried = delivery.attempts and delivery.state == State.QUEUED
    return DeliveryRow(
        href=address("delivery", slug, delivery.id),
        event=short_name("EVT", delivery.event),
        type=delivery.event_type,
        state="retry" if tried else delivery.state,
        attempts=delivery.attempts,
        last=_said(delivery.last_status, delivery.last_code),  # type: ignore[attr-defined]
        created_at=delivery.created_at,
        due_at=delivery.due_at,
    )


def _said(status: int | None, code: str | None) -> str:
    if words := chat_words(code or ""):
        return f"{status}, {code}: {words}"
    return str(status) if status else (code or "").replace("_", " ")


def _attempt(attempt: WebhookAttempt) -> AttemptRow:
    return AttemptRow(
        at=attempt.created_at,
        said=_said(attempt.status, attempt.code),
        milliseconds=attempt.milliseconds,
    )


def _former_until(webhook: Webhook, now: datetime) -> datetime | None:
    """Until when a former secret signs as well. A chat's address signs nothing."""
    if webhook.format == Webhook.Format.CHAT:
        return None
    former = WebhookSecret.objects.filter(webhook_id=webhook.id, expires_at__gt=now)
    latest = former.order_by("-expires_at").values_list("expires_at", flat=True)
    return latest.first()


def _ahead(at: datetime | None, now: datetime) -> datetime | None:
    return at if at is not None and at > now else None
