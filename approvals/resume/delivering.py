"""Sending what webhooks are owed: at least once, in no promised order.

A chat's message is made as it leaves, and is dropped if there is nothing to say by then.
One worker at a time delivers to an address, so that a slow one holds up nobody else;
one that fails is left alone for a while, with all that waits for it. Nothing is sent
inside a transaction, and whatever interrupts this, the messages are still due.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import structlog
from django.db import connection
from django.db.models import Q, QuerySet

from approvals.chat import chat_body, chat_code
from approvals.models import (
    Webhook,
    WebhookAttempt,
    WebhookDelivery,
    WebhookSecret,
)
from approvals.publishing import publish_delivery
from approvals.services.granting import SYSTEM
from approvals.webhooks import (
    ADDRESS,
    SIGNING,
    open_secret,
    pause_after,
    rest_after,
    signed_headers,
    wished,
)
from checkpoints.outbound import Answer, NotSent, Unanswered, send
from kernel.clock import ClockTimestamp, database_now
from kernel.ids import new_id
from kernel.problems import Problem
from kernel.sealing import Unreadable
from sessions.queries import locked
from tenants.verbs import Gate, Verb, perform

State = WebhookDelivery.State
ANSWER_WITHIN: Final = 10.0  # seconds for one attempt altogether
MOST_ANSWER: Final = 64 * 1024  # bytes; nobody reads them
CLAIM: Final = timedelta(seconds=30)  # longer than one attempt
TURN: Final = 20.0  # seconds after which another turn begins, perhaps elsewhere
LATER: Final = timedelta(seconds=5)  # while somebody else delivers to the address
MOST_DROPPED: Final = 50  # messages of a chat in one transaction
GONE: Final = 410
TOO_MANY: Final = 429
RETRY_AFTER: Final = frozenset({429, 502, 503, 504})

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """An address that this worker, and for now no other, delivers to."""

    tenant_id: UUID
    webhook_id: UUID
    claim: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One attempt at one message, as it is to be sent.

    `keys` are what it is signed with; a chat's is its address, which nothing may print.
    """

    delivery_id: UUID
    attempts: int
    event: UUID
    format: str
    url: str = field(repr=False)
    body: str
    keys: tuple[str, ...] = field(repr=False)
    now: datetime

    @property
    def is_chat(self) -> bool:
        return self.format == Webhook.Format.CHAT

    @property
    def headers(self) -> Mapping[str, str]:
        if self.is_chat:
            return {"Content-Type": "application/json", "User-Agent": "Keyturn"}
        return signed_headers(self.event, self.body, self.keys, self.now)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What came of an attempt: a status, or the code of what went wrong."""

    status: int | None = None
    code: str = ""
    retry_after: str = ""
    milliseconds: int = 0

    @property
    def is_delivered(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


def tenant_of(delivery_id: UUID) -> UUID | None:
    """Whose message it is. Tasks carry ids only."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT keyturn_delivery_tenant(%s)", [delivery_id])
        tenant: UUID | None = cursor.fetchone()[0]
        return tenant


def deliver(delivery_id: UUID) -> int:
    """Send this message, if it is due, and what else its address is owed now.

    Returns how many attempts were made.
    """
    tenant_id = tenant_of(delivery_id)
    if tenant_id is None:
        return 0
    claimed = perform(tenant_id, lambda verb: _claim(verb, delivery_id), gate=Gate.NONE)
    if claimed is None:
        return 0
    made, ends = 0, time.monotonic() + TURN
    while message := _take(claimed):
        made += 1
        if not _settle(claimed, message, attempt(message)):
            break
        if time.monotonic() >= ends:
            _hand_over(claimed)
            return made
    _release(claimed)
    return made


def attempt(message: Message) -> Result:
    """One POST; whatever is raised is a result. Nothing is sent without its secret."""
    began = time.monotonic()
    if not message.keys:
        return Result(code="secret_unreadable")
    try:
        answer = send(
            "POST",
            message.url,
            headers=message.headers,
            body=message.body.encode(),
            within=ANSWER_WITHIN,
            most=MOST_ANSWER,
        )
    except (NotSent, Unanswered) as error:
        return Result(code=error.code, milliseconds=_since(began))
    return _result(answer, _since(began), message.is_chat)


def _result(answer: Answer, milliseconds: int, is_chat: bool) -> Result:
    status = answer.status
    wish = answer.headers.get("retry-after", "") if status in RETRY_AFTER else ""
    code = "" if 200 <= status < 300 else f"status_{status}"
    if code and is_chat:
        code = chat_code(answer.body) or code
    return Result(status=status, code=code, retry_after=wish, milliseconds=milliseconds)


def _since(began: float) -> int:
    return int((time.monotonic() - began) * 1000)


def _claim(verb: Verb, delivery_id: UUID) -> Claimed | None:
    delivery = WebhookDelivery.objects.filter(id=delivery_id).first()
    if delivery is None or delivery.due_at is None:
        return None
    now, mine = database_now(), new_id()
    rows = Webhook.objects.filter(id=delivery.webhook_id)
    free = Q(busy_until=None) | Q(busy_until__lte=now)
    rested = Q(resting_until=None) | Q(resting_until__lte=now)
    taken = rows.filter(free, rested).update(claim=mine, busy_until=now + CLAIM)
    if taken:
        return Claimed(
            tenant_id=verb.tenant_id, webhook_id=delivery.webhook_id, claim=mine
        )
    _put_off(rows.get(), delivery, now)
    return None


def _put_off(webhook: Webhook, delivery: WebhookDelivery, now: datetime) -> None:
    """So that sweeps do not find it again and again before its time."""
    resting = webhook.resting_until
    if resting is not None and resting > now:
        _due(webhook.id, now).update(due_at=resting)
    else:
        _due(webhook.id, now).filter(id=delivery.id).update(due_at=now + LATER)


def _due(webhook_id: UUID, now: datetime) -> QuerySet[WebhookDelivery]:
    return WebhookDelivery.objects.filter(webhook_id=webhook_id, due_at__lte=now)


def _take(claimed: Claimed) -> Message | None:
    """The oldest message that is due, and the claim for as long again."""
    return perform(claimed.tenant_id, lambda verb: _next(verb, claimed), gate=Gate.NONE)


def _next(verb: Verb, claimed: Claimed) -> Message | None:
    now = database_now()
    if not _mine(claimed).update(busy_until=now + CLAIM):
        return None
    webhook = Webhook.objects.get(id=claimed.webhook_id)
    if not webhook.enabled:
        _drop(webhook)
        return None
    for delivery in _due(webhook.id, now).order_by("due_at", "id")[:MOST_DROPPED]:
        is_chat = webhook.format == Webhook.Format.CHAT
        body = chat_body(webhook, delivery) if is_chat else delivery.body
        if body is not None:
            return _message(webhook, delivery, body, now)
        _end(delivery.id, State.DROPPED)
    return None


def _message(
    webhook: Webhook, delivery: WebhookDelivery, body: str, now: datetime
) -> Message:
    keys = tuple(_keys(webhook, now))
    is_chat = webhook.format == Webhook.Format.CHAT
    return Message(
        delivery_id=delivery.id,
        attempts=delivery.attempts + 1,
        event=delivery.event,
        format=webhook.format,
        url="".join(keys[:1]) if is_chat else webhook.url,
        body=body,
        keys=keys,
        now=now,
    )


def _end(delivery_id: UUID, state: WebhookDelivery.State) -> None:
    rows = WebhookDelivery.objects.filter(id=delivery_id, state=State.QUEUED)
    rows.update(state=state, due_at=None, ended_at=ClockTimestamp())


def _keys(webhook: Webhook, now: datetime) -> list[str]:
    """Its secrets, the newest first. What cannot be opened signs nothing."""
    is_chat = webhook.format == Webhook.Format.CHAT
    purpose = ADDRESS if is_chat else SIGNING
    living = Q(expires_at=None) | Q(expires_at__gt=now)
    found = []
    rows = WebhookSecret.objects.filter(living, webhook=webhook)
    for row in rows.order_by("-created_at"):
        try:
            found.append(
                open_secret(webhook.tenant_id, webhook.id, bytes(row.sealed), purpose)
            )
        except (Unreadable, Problem) as error:
            log.error(
                "webhook_secret_unreadable", webhook=str(webhook.id), why=str(error)
            )
    return found


def _drop(webhook: Webhook) -> None:
    """Nobody listens any more: what waited stays on record, and may be replayed."""
    WebhookDelivery.objects.filter(webhook=webhook, due_at__isnull=False).update(
        state=State.DEAD, due_at=None, ended_at=ClockTimestamp()
    )


def _settle(claimed: Claimed, message: Message, result: Result) -> bool:
    """Record the attempt; whether to go on with this address."""
    return perform(
        claimed.tenant_id, lambda verb: _record(verb, claimed, message, result)
    )


def _record(verb: Verb, claimed: Claimed, message: Message, result: Result) -> bool:
    if locked(WebhookDelivery).filter(id=message.delivery_id).first() is None:
        return True  # It was erased while it was sent, and the attempt with it.
    WebhookAttempt.objects.create(
        tenant_id=verb.tenant_id,
        delivery_id=message.delivery_id,
        status=result.status,
        code=result.code,
        milliseconds=result.milliseconds,
    )
    # Whoever took the address over, or replayed the message, has counted on.
    rows = WebhookDelivery.objects.filter(
        id=message.delivery_id, attempts=message.attempts - 1, state=State.QUEUED
    )
    if result.is_delivered:
        rows.update(
            state=State.DELIVERED,
            attempts=message.attempts,
            due_at=None,
            ended_at=ClockTimestamp(),
        )
        return bool(_mine(claimed).update(failures=0, resting_until=None))
    _fail(verb, message, result)
    _rest(verb, claimed, result)
    return False


def _fail(verb: Verb, message: Message, result: Result) -> None:
    rows = WebhookDelivery.objects.filter(
        id=message.delivery_id, attempts=message.attempts - 1, state=State.QUEUED
    )
    pause = pause_after(message.attempts, result.retry_after)
    if pause is not None:
        rows.update(attempts=message.attempts, due_at=database_now() + pause)
        return
    if rows.update(
        state=State.DEAD,
        attempts=message.attempts,
        due_at=None,
        ended_at=ClockTimestamp(),
    ):
        verb.record(
            "webhook.given_up",
            actor=SYSTEM,
            subject=("delivery", message.delivery_id),
            data={"event": str(message.event), "code": result.code},
        )


def _rest(verb: Verb, claimed: Claimed, result: Result) -> None:
    webhook = _mine(claimed).first()
    if webhook is None:
        return
    failures = webhook.failures + 1
    rest = rest_after(failures)
    if result.status == TOO_MANY:  # It is about the address, not about one message.
        rest = max(rest, wished(result.retry_after))
    until = database_now() + rest
    _mine(claimed).update(failures=failures, resting_until=until)
    if result.status == GONE:
        why = "The address answered that it is gone for good (410)."
        _mine(claimed).update(enabled=False, why_disabled=why)
        data = {"why": "gone"}
        verb.record(
            "webhook.disabled", actor=SYSTEM, subject=("webhook", webhook.id), data=data
        )


def _hand_over(claimed: Claimed) -> None:
    """The turn is over and there may be more: somebody's next turn begins."""
    _release(claimed)

    def look(verb: Verb) -> UUID | None:
        due = _due(claimed.webhook_id, database_now()).order_by("due_at", "id")
        return due.values_list("id", flat=True).first()

    following = perform(claimed.tenant_id, look, gate=Gate.NONE)
    if following is not None:
        publish_delivery(following)


def _release(claimed: Claimed) -> None:
    def work(verb: Verb) -> None:
        _mine(claimed).update(claim=None, busy_until=None)

    perform(claimed.tenant_id, work, gate=Gate.NONE)


def _mine(claimed: Claimed) -> QuerySet[Webhook]:
    return Webhook.objects.filter(id=claimed.webhook_id, claim=claimed.claim)
