"""Of what a chat may be told, and whether it is told of this."""

from collections.abc import Mapping
from typing import Final

from approvals.happenings import ANOTHER_KEY, PING, Happening, Surroundings
from approvals.models import Request, Webhook

CHAT_TYPES: Final[Mapping[str, str]] = {
    "approval.requested": "A request waits for a decision",
    ANOTHER_KEY: "A key was turned, and another is needed",
    "approval.reminded": "Nobody has answered, and people are reminded",
    "approval.escalated": "Nobody has answered, and others are asked too",
    "approval.broke_glass": "Somebody broke the glass",
    "approval.decided": "It was decided",
    "approval.expired": "Its time is over",
}
"""The types of events, with what their choice is called."""
USUAL: Final = (
    "approval.requested",
    ANOTHER_KEY,
    "approval.escalated",
    "approval.broke_glass",
)
"""What a new chat is told of unless somebody says otherwise: what calls for people."""
WAITING: Final = frozenset(
    {"approval.requested", ANOTHER_KEY, "approval.reminded", "approval.escalated"}
)
"""Said only while it is so."""


def wants(webhook: Webhook, event: Happening, around: Surroundings) -> bool:
    """Whether this chat is told of the event. Nobody waits for what policy decides."""
    if event.type not in webhook.event_types:
        return False
    if event.type == PING:
        return True
    request = around.request_of(event)
    if request is None or webhook.queue_id not in {None, request.queue_id}:
        return False
    if event.type in WAITING:
        return request.state == Request.State.PENDING
    return event.type != "approval.decided" or not around.is_decided_at_once(event)
