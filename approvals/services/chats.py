"""Chats that are told what waits: adding one, and changing of what it is told.

Its address is all that is needed to write there, so it is sealed, as secrets are. What
else is kept of it, and recorded, is its host and how it ends.
"""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from approvals.chat import CHAT_TYPES
from approvals.models import Queue, Webhook, WebhookSecret
from approvals.services.webhooks import (
    check_address,
    check_types,
    in_order,
    record_webhook,
    update_webhook,
)
from approvals.webhooks import ADDRESS, seal_secret, shown_address
from audit.append import Actor
from kernel.clock import ClockTimestamp
from kernel.problems import NOT_FOUND
from tenants.checks import Acting, permitted
from tenants.services.change import own
from tenants.verbs import Verb, perform


def add_chat(
    *,
    tenant_id: UUID,
    by: Acting,
    url: str,
    event_types: Sequence[str],
    queue_id: UUID | None = None,
    description: str = "",
) -> Webhook:
    """Tell a chat of these happenings, of all queues or of one, from now on.

    Raises `webhook.url_refused`, `webhook.event_types_refused` (422), and `not_found`
    (404) for a queue that is not the tenant's.
    """
    check_address(url)
    check_types(event_types, CHAT_TYPES)

    def work(verb: Verb) -> Webhook:
        actor = permitted(tenant_id, by)
        webhook = Webhook.objects.create(
            tenant_id=tenant_id,
            format=Webhook.Format.CHAT,
            url=shown_address(url),
            **_settings(tenant_id, event_types, queue_id, description),
        )
        _keep_address(webhook, url)
        _record(verb, "webhook.created", actor, webhook, new_address=True)
        return webhook

    return perform(tenant_id, work)


def change_chat(
    *,
    tenant_id: UUID,
    by: Acting,
    webhook_id: UUID,
    event_types: Sequence[str],
    queue_id: UUID | None = None,
    description: str = "",
    url: str = "",
) -> Webhook:
    """Change of what it is told; and its address, unless `url` is empty.

    Raises what `add_chat` raises, and `not_found` for what is no chat.
    """
    if url:
        check_address(url)
    check_types(event_types, CHAT_TYPES)

    def work(verb: Verb) -> Webhook:
        actor = permitted(tenant_id, by)
        webhook = own(Webhook, tenant_id, webhook_id)
        if webhook.format != Webhook.Format.CHAT:
            raise NOT_FOUND("This is no chat.")
        change = _settings(tenant_id, event_types, queue_id, description)
        if url:
            change["url"] = shown_address(url)
            _keep_address(webhook, url)
        update_webhook(webhook, **change)
        _record(verb, "webhook.changed", actor, webhook, new_address=bool(url))
        return webhook

    return perform(tenant_id, work)


def _settings(
    tenant_id: UUID,
    event_types: Sequence[str],
    queue_id: UUID | None,
    description: str,
) -> dict[str, Any]:
    if queue_id is not None:
        own(Queue, tenant_id, queue_id)
    return {
        "event_types": in_order(event_types, CHAT_TYPES),
        "queue_id": queue_id,
        "description": description.strip(),
    }


def _keep_address(webhook: Webhook, url: str) -> None:
    """Sealed; and the former one is used no more."""
    living = WebhookSecret.objects.filter(webhook=webhook, expires_at=None)
    living.update(expires_at=ClockTimestamp())
    sealed = seal_secret(webhook.tenant_id, webhook.id, url, ADDRESS)
    WebhookSecret.objects.create(
        tenant_id=webhook.tenant_id, webhook=webhook, sealed=sealed
    )


def _record(
    verb: Verb, kind: str, actor: Actor, webhook: Webhook, *, new_address: bool
) -> None:
    queue = str(webhook.queue_id) if webhook.queue_id else None
    more = {"queue": queue, "new_address": new_address}
    record_webhook(verb, kind, actor, webhook, **more)
