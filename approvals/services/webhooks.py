"""Who is told: adding an address, changing it, and sending something again.

What is done to chats alone is in `chats`; switching, testing and replaying is the same.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit
from uuid import UUID

from django.db.models import Q

from approvals.happenings import EVENT_TYPES, PING, Happening
from approvals.models import Webhook, WebhookDelivery, WebhookSecret
from approvals.outbox import enqueue
from approvals.publishing import publish_delivery
from approvals.webhooks import OVERLAP, flaw_of, new_secret, seal_secret
from audit.append import Actor
from kernel.clock import ClockTimestamp, database_now
from kernel.problems import NOT_FOUND, declare
from kernel.update import update_exactly_one
from tenants.checks import Acting, permitted
from tenants.services.change import own
from tenants.verbs import Verb, perform

URL_REFUSED: Final = declare(
    "webhook.url_refused", status=422, title="No webhook can be at this address"
)
TYPES_REFUSED: Final = declare(
    "webhook.event_types_refused", status=422, title="There are no such events"
)
DISABLED: Final = declare(
    "webhook.disabled", status=409, title="This webhook is switched off"
)
UNFINISHED: Final = declare(
    "webhook.still_queued", status=409, title="This message is on its way already"
)

CHATS_HOSTS: Final = frozenset({"hooks.slack.com", "hooks.slack-gov.com"})
"""Nobody there reads events; and as a chat's, their addresses are sealed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSecret:
    """A webhook and the secret that it has just been given: shown once, never again."""

    webhook: Webhook
    secret: str


def create_webhook(
    *,
    tenant_id: UUID,
    by: Acting,
    url: str,
    event_types: Sequence[str],
    description: str = "",
    with_arguments: bool = False,
) -> NewSecret:
    """Tell an address of these types of events from now on.

    Raises `webhook.url_refused`, `webhook.event_types_refused` (422).
    """
    _check(url, event_types)

    def work(verb: Verb) -> NewSecret:
        actor = permitted(tenant_id, by)
        webhook = Webhook.objects.create(
            tenant_id=tenant_id,
            url=url,
            description=description.strip(),
            event_types=in_order(event_types, EVENT_TYPES),
            with_arguments=with_arguments,
        )
        record_webhook(verb, "webhook.created", actor, webhook)
        return NewSecret(webhook=webhook, secret=_add_secret(webhook))

    return perform(tenant_id, work)


def change_webhook(
    *,
    tenant_id: UUID,
    by: Acting,
    webhook_id: UUID,
    url: str,
    event_types: Sequence[str],
    description: str = "",
    with_arguments: bool = False,
) -> Webhook:
    """Change where it is told, and of what. Raises what `create_webhook` raises."""
    _check(url, event_types)

    def work(verb: Verb) -> Webhook:
        actor = permitted(tenant_id, by)
        webhook = _signed(tenant_id, webhook_id)
        change = {
            "url": url,
            "description": description.strip(),
            "event_types": in_order(event_types, EVENT_TYPES),
            "with_arguments": with_arguments,
        }
        update_webhook(webhook, **change)
        record_webhook(verb, "webhook.changed", actor, webhook)
        return webhook

    return perform(tenant_id, work)


def rotate_secret(*, tenant_id: UUID, by: Acting, webhook_id: UUID) -> NewSecret:
    """Give it a new secret. For a day each message carries both signatures."""

    def work(verb: Verb) -> NewSecret:
        actor = permitted(tenant_id, by)
        webhook = _signed(tenant_id, webhook_id)
        now = database_now()
        living = Q(expires_at=None) | Q(expires_at__gt=now + OVERLAP)
        former = WebhookSecret.objects.filter(living, webhook=webhook)
        former.update(expires_at=now + OVERLAP)
        record_webhook(verb, "webhook.secret_rotated", actor, webhook)
        return NewSecret(webhook=webhook, secret=_add_secret(webhook))

    return perform(tenant_id, work)


def end_former_secrets(*, tenant_id: UUID, by: Acting, webhook_id: UUID) -> None:
    """Sign with the newest secret alone from now on: a former one has leaked."""

    def work(verb: Verb) -> None:
        actor = permitted(tenant_id, by)
        webhook = _signed(tenant_id, webhook_id)
        former = WebhookSecret.objects.filter(webhook=webhook, expires_at__isnull=False)
        former.update(expires_at=ClockTimestamp())
        record_webhook(verb, "webhook.former_secrets_ended", actor, webhook)

    perform(tenant_id, work)


def switch_webhook(
    *, tenant_id: UUID, by: Acting, webhook_id: UUID, enabled: bool
) -> Webhook:
    """Stop telling it, or go on. What happens meanwhile it is not told later."""

    def work(verb: Verb) -> Webhook:
        actor = permitted(tenant_id, by)
        webhook = own(Webhook, tenant_id, webhook_id)
        fresh = {"failures": 0, "resting_until": None, "why_disabled": ""}
        update_webhook(webhook, enabled=enabled, **fresh)
        kind = "webhook.enabled" if enabled else "webhook.disabled"
        record_webhook(verb, kind, actor, webhook)
        return webhook

    return perform(tenant_id, work)


def ping_webhook(*, tenant_id: UUID, by: Acting, webhook_id: UUID) -> WebhookDelivery:
    """Send a `webhook.ping`, whatever it listens to. Raises `webhook.disabled` (409)."""

    def work(verb: Verb) -> WebhookDelivery:
        actor = permitted(tenant_id, by)
        webhook = own(Webhook, tenant_id, webhook_id)
        _require_enabled(webhook)
        note = verb.journal.record(
            kind="webhook.pinged", actor=actor, subject=("webhook", webhook.id)
        )
        webhook.event_types = [PING]
        event = Happening(id=note, type=PING, about="run", about_id=webhook.id)
        return enqueue(verb, [webhook], [event])[0]

    return perform(tenant_id, work)


def replay_delivery(
    *, tenant_id: UUID, by: Acting, delivery_id: UUID
) -> WebhookDelivery:
    """Send the same message again, with the same id, as if it were the first time.

    Raises `webhook.disabled`, `webhook.still_queued` (409).
    """

    def work(verb: Verb) -> WebhookDelivery:
        actor = permitted(tenant_id, by)
        delivery = own(WebhookDelivery, tenant_id, delivery_id)
        webhook = own(Webhook, tenant_id, delivery.webhook_id)
        _require_enabled(webhook)
        _requeue(delivery)
        data = {"delivery": str(delivery.id), "event": str(delivery.event)}
        verb.record(
            "webhook.replayed", actor=actor, subject=("webhook", webhook.id), data=data
        )
        verb.after_commit(lambda: publish_delivery(delivery.id))
        return delivery

    return perform(tenant_id, work)


def _requeue(delivery: WebhookDelivery) -> None:
    if delivery.state == WebhookDelivery.State.QUEUED:
        raise UNFINISHED()
    change = {
        "state": WebhookDelivery.State.QUEUED,
        "attempts": 0,
        "due_at": database_now(),
        "ended_at": None,
    }
    rows = WebhookDelivery.objects.filter(id=delivery.id, state=delivery.state)
    update_exactly_one(rows, **change)


def _check(url: str, event_types: Sequence[str]) -> None:
    check_address(url)
    host = urlsplit(url).hostname or ""
    if host.rstrip(".") in CHATS_HOSTS:  # with a dot behind it is the same host
        raise URL_REFUSED("This is a chat's address: add it as a chat.", "/url")
    check_types(event_types, EVENT_TYPES)


def check_address(url: str) -> None:
    """Raises `webhook.url_refused` (422)."""
    if flaw := flaw_of(url):
        raise URL_REFUSED(flaw, "/url")


def check_types(event_types: Sequence[str], known: Collection[str]) -> None:
    """Raises `webhook.event_types_refused` (422)."""
    unknown = set(event_types) - set(known)
    if unknown or not event_types:
        said = ", ".join(sorted(unknown)) or "None was chosen."
        raise TYPES_REFUSED(said, "/event_types")


def in_order(event_types: Sequence[str], known: Collection[str]) -> list[str]:
    """The chosen ones, in the order in which they are known."""
    return [one for one in known if one in set(event_types)]


def _signed(tenant_id: UUID, webhook_id: UUID) -> Webhook:
    """One that has secrets to sign with. Raises `not_found` for a chat, too."""
    webhook = own(Webhook, tenant_id, webhook_id)
    if webhook.format != Webhook.Format.EVENTS:
        raise NOT_FOUND("A chat's messages are not signed.")
    return webhook


def _require_enabled(webhook: Webhook) -> None:
    if not webhook.enabled:
        raise DISABLED("Switch it on first.")


def _add_secret(webhook: Webhook) -> str:
    secret = new_secret()
    sealed = seal_secret(webhook.tenant_id, webhook.id, secret)
    WebhookSecret.objects.create(
        tenant_id=webhook.tenant_id, webhook=webhook, sealed=sealed
    )
    return secret


def update_webhook(webhook: Webhook, **change: object) -> None:
    """Set these columns, in the database and in what is at hand."""
    update_exactly_one(Webhook.objects.filter(id=webhook.id), **change)
    for name, value in change.items():
        setattr(webhook, name, value)


def record_webhook(
    verb: Verb, kind: str, actor: Actor, webhook: Webhook, **more: object
) -> None:
    """The audit entry of a change: whom it tells, and of what."""
    data = {
        "format": webhook.format,
        # Its path may be a secret.
        "host": urlsplit(webhook.url).netloc,
        "event_types": list(webhook.event_types),
        "with_arguments": webhook.with_arguments,
        **more,
    }
    verb.record(kind, actor=actor, subject=("webhook", webhook.id), data=data)
