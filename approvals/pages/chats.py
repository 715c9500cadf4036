"""The forms of chats that are told, from rows; inside the tenant's scope."""

from collections.abc import Collection, Mapping
from typing import Any, Final
from uuid import UUID

from approvals.chat import CHAT_TYPES, USUAL
from approvals.models import Queue, Webhook
from approvals.pages.addresses import address
from approvals.presentation.leave import Pick
from approvals.presentation.webhooks import ChatForm, TypeChoice

NEW: Final = UUID(int=0)


def blank_chat(slug: str) -> ChatForm:
    """For one more: of all queues, and of what calls for people."""
    return ChatForm(
        action=address("webhooks", slug),
        types=_choices(USUAL),
        queues=_queues(""),
        errors={},
    )


def chat_form(slug: str, webhook: Webhook) -> ChatForm:
    """As it is set."""
    return ChatForm(
        action=address("webhook", slug, webhook.id),
        shown=webhook.url,
        description=webhook.description,
        types=_choices(webhook.event_types),
        queues=_queues(str(webhook.queue_id or "")),
        errors={},
    )


def chat_as_typed(
    action: str,
    typed: Mapping[str, Any],
    types: Collection[str],
    errors: Mapping[str, str],
    webhook_id: UUID = NEW,
) -> ChatForm:
    """The form again, without the address that was typed: it is a secret.

    `webhook_id` is the one that it changes.
    """
    rows = Webhook.objects.filter(id=webhook_id).values_list("url", flat=True)
    return ChatForm(
        action=action,
        shown=rows.first() or "",
        description=typed.get("description", ""),
        types=_choices(types),
        queues=_queues(typed.get("queue_id", "")),
        errors=errors,
    )


def _choices(chosen: Collection[str]) -> tuple[TypeChoice, ...]:
    return tuple(
        TypeChoice(name=name, title=title, chosen=name in chosen)
        for name, title in CHAT_TYPES.items()
    )


def _queues(chosen: str) -> tuple[Pick, ...]:
    rows = Queue.objects.order_by("name").values_list("id", "name")
    return tuple(
        Pick(value=str(id), text=name, chosen=str(id) == chosen) for id, name in rows
    )
