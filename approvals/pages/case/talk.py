"""The session as its agent recorded it: any provider's items as plain, bounded text.

The items are evidence and nobody's word but the agent's. They are read leniently, never
rendered as what they claim to be, and whatever has no known shape is shown as it is.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final
from uuid import UUID

from approvals.pages.case.record import CaseRecord
from approvals.presentation.case import TalkRow
from sessions.models import Item
from sessions.queries import TRUNK, Window, items_on, newest_within
from sessions.redaction import MOST_READ, redacted_text

MOST_ITEMS: Final = 40
MOST_CHARACTERS: Final = 4_000  # of one item
MOST_PARTS: Final = 20
LARGEST: Final = 128 * 1024  # bytes of an item that is looked through, and so shown
MOST_BYTES: Final = 512 * 1024  # of all that are
ROLES: Final = {
    "user": "user",
    "human": "user",
    "assistant": "model",
    "model": "model",
    "ai": "model",
    "tool": "tool",
    "function": "tool",
    "system": "system",
    "developer": "system",
}
TEXTS: Final = ("text", "content", "output", "thinking", "summary", "input_text")
CALLS: Final = ("tool_use", "function_call", "tool_call", "functionCall")
RESULTS: Final = (
    "tool_result",
    "function_call_output",
    "function_result",
    "functionResponse",
)


@dataclass(frozen=True, slots=True)
class Said:
    """One piece of an item: whose register it is in, and a call's name."""

    provenance: str
    text: str
    call: str = ""


def talk(record: CaseRecord, found: Window) -> tuple[TalkRow, ...]:
    """First what is not shown; then items, oldest first, which may say several things."""
    rows = [_row(record, item, said) for item in found.items for said in said_in(item)]
    return (*_not_shown(record, found), *rows)


def _not_shown(record: CaseRecord, found: Window) -> Iterator[TalkRow]:
    """Nothing is shown that was not looked through for credentials."""
    if found.more:
        yield _ours(record, "What was said before these items is not shown here.")
    for position, size in reversed(found.left_out):
        text = f"Item {position} is not shown: it is too large, with {size:,} bytes."
        yield _ours(record, text)


def _ours(record: CaseRecord, text: str) -> TalkRow:
    at = record.request.created_at
    return TalkRow(at=at, provenance="system", who="Keyturn", text=text)


def said_in(item: Item) -> Iterator[Said]:
    """What an opened item says, without the credentials in it."""
    for said in pieces(item.raw):
        yield replace(said, text=_clean(said.text, item.tenant_id))


def _clean(text: str, tenant_id: UUID) -> str:
    return redacted_text(text, tenant_id, most=MOST_READ)


def newest_items(record: CaseRecord) -> Window:
    """What is said on the branch that the run is on; no more than can be looked through.

    Who does not oversee sees what stood there when this was asked: the session may have
    gone on to what others are asked.
    """
    run = record.request.run
    said = items_on(run.session_id, run.branch or TRUNK)
    if not record.viewer.membership.oversees:
        said = said.filter(created_at__lte=record.revision.created_at)
    return newest_within(
        said,
        session_id=run.session_id,
        limit=MOST_ITEMS,
        most=MOST_BYTES,
        largest=LARGEST,
    )


def _row(record: CaseRecord, item: Item, said: Said) -> TalkRow:
    return TalkRow(
        at=item.created_at,
        provenance=said.provenance,
        who=_who(record, said),
        text=said.text[:MOST_CHARACTERS],
        call=said.call,
    )


def _who(record: CaseRecord, said: Said) -> str:
    """Named by us; and as it is the agent that recorded it, that is said too."""
    agent = record.request.agent.name
    who = agent if said.provenance == "model" else f"as {agent} recorded it"
    if len(said.text) > MOST_CHARACTERS:
        who += f"; the first {MOST_CHARACTERS:,} of {len(said.text):,} characters"
    return who


def pieces(raw: str) -> list[Said]:
    """What one recorded item says. Never raises, whatever the item is."""
    try:
        found = list(islice(_pieces(json.loads(raw), "system"), MOST_PARTS))
    except (ValueError, RecursionError):
        return [Said("system", raw)]
    return [one for one in found if one.text or one.call] or [Said("system", raw)]


def _pieces(value: Any, provenance: str) -> Iterator[Said]:
    """Walks the few shapes that providers use, without following them deep."""
    if isinstance(value, str):
        yield Said(provenance, value)
    elif isinstance(value, list):
        for part in value[:MOST_PARTS]:
            yield from _pieces(part, provenance)
    elif isinstance(value, Mapping):
        yield from _object(value, provenance)


def _object(value: Mapping[str, Any], provenance: str) -> Iterator[Said]:
    provenance = _provenance(value, provenance)
    call = _call(value)
    if call is not None:
        yield call
        return
    parts = [value[name] for name in (*TEXTS, "parts") if name in value]
    result = next((value[name] for name in RESULTS if name in value), None)
    if result is not None:
        parts.append(_plain(result))
    if not parts and not value.get("tool_calls"):
        yield Said(provenance, _plain(value))
    for part in parts[:1]:
        yield from _pieces(part, provenance)
    yield from _pieces(value.get("tool_calls"), "tool")


def _provenance(value: Mapping[str, Any], inherited: str) -> str:
    kind = str(value.get("type", ""))
    if kind in RESULTS or any(name in value for name in RESULTS):
        return "tool"
    if kind in {"thinking", "reasoning"}:
        return "model"
    return ROLES.get(str(value.get("role", kind)), inherited)


def _call(value: Mapping[str, Any]) -> Said | None:
    """A call of a tool, however its provider spells it."""
    inner = value.get("function") or value.get("functionCall") or value
    if not isinstance(inner, Mapping):
        return None
    spelled = str(value.get("type", "")) in CALLS or "functionCall" in value
    if not (spelled or isinstance(value.get("function"), Mapping)):
        return None
    given = next((inner[k] for k in ("arguments", "input", "args") if k in inner), "")
    return Said("tool", _plain(given), call=str(inner.get("name", "a tool")))


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
