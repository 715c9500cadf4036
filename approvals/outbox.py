"""Writing down whom to tell, in the transaction that there is something to tell of.

A step at the end of every verb. A tenant that nobody listens to costs one look.
"""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from approvals.chat import wants
from approvals.happenings import Happening, Surroundings, happenings, keys_turned
from approvals.models import Webhook, WebhookDelivery
from approvals.publishing import publish_delivery
from kernel.canonical import canonical_bytes
from kernel.clock import database_now
from tenants.verbs import Verb


def tell_webhooks(verb: Verb) -> None:
    """A delivery for each event and each webhook that wants it."""
    events = happenings(verb.journal.notes)
    if events:
        verb.changed(verb.tenant_id)  # whoever follows the tenant's events
    events += keys_turned(verb.journal.notes)
    if not events:
        return
    listening = listeners({event.type for event in events})
    if listening:
        enqueue(verb, listening, events)


def listeners(types: set[str]) -> list[Webhook]:
    """The webhooks of the tenant that want to hear of one of these types."""
    rows = Webhook.objects.filter(enabled=True, event_types__overlap=sorted(types))
    return list(rows.order_by("id"))


def enqueue(
    verb: Verb, webhooks: Sequence[Webhook], events: Sequence[Happening]
) -> list[WebhookDelivery]:
    """Write the messages, and hand one of each webhook to the broker after commit."""
    around, now = Surroundings(events), database_now()
    rows = [
        WebhookDelivery(
            tenant_id=verb.tenant_id,
            webhook=webhook,
            event=event.id,
            event_type=event.type,
            body=message(event, now.isoformat(), around, webhook.with_arguments),
            due_at=now,
        )
        for webhook in webhooks
        for event in events
        if _hears(webhook, event, around)
    ]
    for first in {row.webhook_id: row.id for row in reversed(rows)}.values():
        _publish_later(verb, first)
    return WebhookDelivery.objects.bulk_create(rows)


def _hears(webhook: Webhook, event: Happening, around: Surroundings) -> bool:
    if webhook.format == Webhook.Format.CHAT:
        return wants(webhook, event, around)
    return event.type in webhook.event_types


def message(
    event: Happening, at: str, around: Surroundings, with_arguments: bool
) -> str:
    """The body as it is signed and sent, for ever the same."""
    data = around.describe(event, with_arguments=with_arguments)
    body: dict[str, Any] = {"type": event.type, "timestamp": at, "id": str(event.id)}
    return canonical_bytes({**body, "data": data}).decode()


def _publish_later(verb: Verb, delivery_id: UUID) -> None:
    verb.after_commit(lambda: publish_delivery(delivery_id))
