"""A chat's message, made of the rows as they are when it leaves.

Its row says what happened, in ids. Titles are read when they are told, and are kept
nowhere else: what was decided meanwhile, asked anew or erased is not told.
"""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from approvals.chat.body import Said, body_of
from approvals.chat.events import WAITING
from approvals.happenings import ANOTHER_KEY, PING
from approvals.models import Request, Webhook, WebhookDelivery
from tenants.letters import absolute
from tenants.models import Tenant

S = Request.State
HEADLINES: Final[Mapping[tuple[str, str], str]] = {
    ("approval.decided", S.APPROVED): "A request was approved",
    ("approval.decided", S.REJECTED): "A request was rejected",
    ("approval.decided", S.ANSWERED): "A request was answered",
    ("approval.decided", S.CHANGES_REQUESTED): "Changes to a request are asked for",
    ("approval.expired", S.EXPIRED): "Nobody decided in time",
    ("approval.expired", S.LAPSED): "An approval was not used in time",
}
OTHERWISE: Final[Mapping[str, str]] = {
    "approval.requested": "A request waits for a decision",
    ANOTHER_KEY: "A request needs another person's key",
    "approval.reminded": "A request still waits for a decision",
    "approval.escalated": "A request waits too long: others are asked as well",
    "approval.broke_glass": "Somebody broke the glass: one person approved alone",
    "approval.decided": "A request was decided",
    "approval.expired": "The time of a request is over",
}
"""Where the state makes no difference."""
NOTHING_HERE: Final = (
    "Nothing is decided here: the case shows what exactly would happen."
)


def chat_body(webhook: Webhook, delivery: WebhookDelivery) -> str | None:
    """The body to send now, in the tenant's scope; None if it is no longer so."""
    if delivery.event_type == PING:
        return body_of(_test(webhook))
    told = json.loads(delivery.body)["data"]
    request = _request(told["approval"])
    if request is None or not _is_so(webhook, delivery.event_type, told, request):
        return None
    return body_of(_said(webhook, delivery.event_type, told["status"], request))


def _request(id: str) -> Request | None:
    rows = Request.objects.select_related("tool", "agent", "queue", "session", "tenant")
    return rows.filter(id=id, session__erased_at=None).first()


def _is_so(
    webhook: Webhook, type: str, told: Mapping[str, Any], request: Request
) -> bool:
    """Whether the chat still hears of it, and what is asked is still asked."""
    if webhook.queue_id not in {None, request.queue_id}:
        return False
    waits = request.state == S.PENDING and request.revision == told["revision"]
    return waits or type not in WAITING


def _said(webhook: Webhook, type: str, status: str, request: Request) -> Said:
    return Said(
        headline=HEADLINES.get((type, status), OTHERWISE[type]),
        title=request.title,
        facts=(
            ("Tool", request.tool.name),
            ("Risk", request.risk.capitalize()),
            ("Agent", request.agent.name),
            ("Queue", request.queue.name),
            ("Is", S(request.state).label),
        ),
        due_at=_due(request),
        sentence=NOTHING_HERE,
        href=_page(request.tenant, f"queue/{request.id}"),
        action="Open the case",
        tenant=request.tenant.name,
    )


def _due(request: Request) -> datetime | None:
    return request.due_at if request.state == S.PENDING else None


def _test(webhook: Webhook) -> Said:
    tenant = webhook.tenant
    return Said(
        headline="Keyturn can write here",
        sentence="This is a test. Somebody who administers the tenant asked for it.",
        href=_page(tenant, "queue"),
        action="Open the queue",
        tenant=tenant.name,
    )


def _page(tenant: Tenant, rest: str) -> str:
    """Written out: a worker would load every address there is, in this transaction."""
    return absolute(f"/t/{tenant.slug}/{rest}")
