"""What is mailed, as text and as HTML of the same words, and how it leaves.

A letter is made of our own sentences and, in its items, of words that strangers chose.
Those are one line, show what the eye would miss, and lead nowhere: a mail program makes
a link of whatever looks like an address. The one link is ours.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import parseaddr
from typing import Final
from uuid import UUID

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.db import connection
from django.template.loader import render_to_string

from kernel.visible import bracketed
from tenants.models import Mail

LONGEST_SUBJECT: Final = 150  # characters
# Wherever a program would see the name of a host, an address or a scheme.
_LINKED: Final = re.compile(r"(?<=\w)[.．。｡·](?=\w)|:(?=//|\\\\)|[@＠]|:(?=\w)")  # noqa: RUF001
_NUMBER: Final = re.compile(r"\d[.:]\d")

type Fact = tuple[str, str]
"""A word of ours, and what a stranger or we ourselves put there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing that the letter tells of."""

    title: str
    facts: tuple[Fact, ...] = ()
    href: str = ""
    action: str = "Open the case"


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """What one person is sent. `why` says, at the end, how they came to be sent it.

    `name` makes the letter's own id; `thread` that of the first of its thread, which may
    be itself.
    """

    to: str
    subject: str
    headline: str
    sentences: tuple[str, ...]
    items: tuple[Item, ...]
    why: str
    settings_href: str = ""
    name: str
    thread: str = ""


type Writer = Callable[[list[Mail]], Letter | None]
"""Makes one letter of mails of one kind to one person, in their tenant's scope.

None if there is nothing to say any more.
"""

_writers: Final[dict[str, Writer]] = {}


def register_writer(kind: str, writer: Writer) -> None:
    """Let a room above, which this app cannot know, say what a kind of mail tells."""
    _writers[kind] = writer


def write(mails: list[Mail]) -> Letter | None:
    """The letter for these mails; None if nobody knows what to say."""
    writer = _writers.get(mails[0].kind)
    return writer(mails) if writer else None


def absolute(path: str) -> str:
    """A path of this installation as an address to be clicked on."""
    return f"{settings.BASE_URL}{path}"


def inert(text: str) -> str:
    """A stranger's words as one line that shows everything and leads nowhere."""
    line = bracketed(" ".join(text.split()))
    return _LINKED.sub(lambda found: _defused(line, found), line)


def _defused(line: str, found: re.Match[str]) -> str:
    """Between two digits nothing leads anywhere: amounts and times stay readable."""
    around = line[max(found.start() - 1, 0) : found.end() + 1]
    return found[0] if _NUMBER.fullmatch(around) else f"[{found[0]}]"


def dispatch(letter: Letter) -> None:
    """Send it now. Raises `SMTPException` or `OSError`. Never inside a transaction."""
    assert not connection.in_atomic_block
    context = {"letter": letter}
    message = EmailMultiAlternatives(
        subject=letter.subject[:LONGEST_SUBJECT],
        body=render_to_string("mail/letter.txt", context).strip() + "\n",
        to=[letter.to],
        headers=_headers(letter),
    )
    html = render_to_string("mail/letter.html", context)
    message.attach_alternative(html, "text/html")
    message.send(using="default")


def _headers(letter: Letter) -> dict[str, str]:
    """No program answers it, and all of a thread stand together."""
    headers = {
        "Message-ID": _id(letter.name),
        "Auto-Submitted": "auto-generated",
        "X-Auto-Response-Suppress": "All",
    }
    if letter.thread and letter.thread != letter.name:
        headers |= dict.fromkeys(("In-Reply-To", "References"), _id(letter.thread))
    return headers


def _id(name: str) -> str:
    sender = parseaddr(settings.DEFAULT_FROM_EMAIL)[1]
    return f"<{name}@{sender.rpartition('@')[2] or 'keyturn.invalid'}>"


def name_of(mail_id: UUID) -> str:
    """The name of a letter that begins no thread."""
    return f"mail.{mail_id}"
