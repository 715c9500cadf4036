"""Reading a stored envelope that may have been altered: what cannot be read is nothing.

Whoever can write to the database can put anything there. A page then shows that it was
altered; it must not fail, and it must not hide the rest of the list.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from approvals.envelope import UNREADABLE, Action, Envelope
from approvals.policy import Obligation

NOTHING: Final[Mapping[str, Any]] = {}


def sealed_record(envelope: Envelope) -> Mapping[str, Any]:
    """The whole record, or nothing unless it says what is asked and what is owed."""
    if sealed_obligation(envelope) is None or sealed_action(envelope) is None:
        return NOTHING
    return envelope.record


def sealed_obligation(envelope: Envelope) -> Obligation | None:
    try:
        return envelope.obligation
    except UNREADABLE:
        return None


def sealed_expiry(envelope: Envelope) -> datetime | None:
    """Until when that wording could be decided on."""
    try:
        return envelope.decide_by
    except UNREADABLE:
        return None


def sealed_action(envelope: Envelope) -> Action | None:
    try:
        return envelope.action
    except UNREADABLE:
        return None
