"""The JSON of one message: Slack's blocks, and the same as text for who shows no blocks.

Strangers' words stand in `plain_text` objects alone. What is `mrkdwn` is ours: a link to
the case, and a time that each reader sees in their own zone. There is no button: nothing
can be decided from a chat.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from approvals.chat.words import fit, plain, unmarked
from kernel.canonical import canonical_bytes

LONGEST_HEADER: Final = 150  # characters; a header's, as are the next two
LONGEST_TEXT: Final = 3000
LONGEST_FIELD: Final = 2000
LONGEST_LINE: Final = 1000  # ours, of each stranger's word in the text

type Block = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What one message says. `headline`, `sentence` and the facts' names are ours."""

    headline: str
    title: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    due_at: datetime | None = None
    sentence: str
    href: str
    action: str
    tenant: str


def body_of(said: Said) -> str:
    """As it is sent. Nobody fetches the link to show what is behind it."""
    body = {
        "text": _text(said),
        "blocks": [one for one in _blocks(said) if one],
        "unfurl_links": False,
        "unfurl_media": False,
    }
    return canonical_bytes(body).decode()


def _text(said: Said) -> str:
    """For notifications, and for chats that know no blocks: it says everything."""
    facts = [f"{name}: {unmarked(value, LONGEST_LINE)}" for name, value in said.facts]
    title = f": {unmarked(said.title, LONGEST_LINE)}" if said.title else ""
    due = f" Decide by {_clock(said.due_at)}." if said.due_at else ""
    lines = [
        f"{said.headline}{title}",
        " · ".join(facts),
        f"{said.sentence}{due}",
        f"{said.action}: {_link(said.href)}",
        f"{unmarked(said.tenant, LONGEST_LINE)} on Keyturn",
    ]
    return "\n\n".join(line for line in lines if line)


def _blocks(said: Said) -> list[Block | None]:
    return [
        {"type": "header", "text": _plain(said.headline, LONGEST_HEADER)},
        _section(said.title),
        _fields(said.facts),
        {"type": "section", "text": _marked(f"<{_link(said.href)}|{said.action}>")},
        {
            "type": "context",
            "elements": [
                _marked(said.sentence + _due(said.due_at)),
                _plain(f"{said.tenant} on Keyturn", LONGEST_FIELD),
            ],
        },
    ]


def _section(title: str) -> Block | None:
    if not title:
        return None
    return {"type": "section", "text": _plain(title, LONGEST_TEXT)}


def _fields(facts: tuple[tuple[str, str], ...]) -> Block | None:
    if not facts:
        return None
    fields = [_plain(f"{name}: {value}", LONGEST_FIELD) for name, value in facts]
    return {"type": "section", "fields": fields}


def _plain(text: str, most: int) -> Mapping[str, Any]:
    return {"type": "plain_text", "text": plain(text, most), "emoji": False}


def _marked(ours: str) -> Mapping[str, Any]:
    return {"type": "mrkdwn", "text": ours, "verbatim": True}


def _due(at: datetime | None) -> str:
    if at is None:
        return ""
    shown = "{date_short_pretty} {time}"
    return f" Decide by <!date^{int(at.timestamp())}^{shown}|{_clock(at)}>."


def _clock(at: datetime) -> str:
    return f"{at.astimezone(UTC):%-d %B %Y, %H:%M} UTC"


def _link(href: str) -> str:
    return fit(href.replace("|", "%7C"), LONGEST_TEXT)
