"""What was mailed, or could not be."""

from dataclasses import dataclass
from datetime import datetime

from approvals.presentation.shell import Empty, Notice, Pages


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterRow:
    """One mail. `state` is queued, retry, sent, dropped or dead; `code` why it failed."""

    id: str
    kind: str
    to: str
    state: str
    attempts: int
    code: str
    written_at: datetime
    due_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LettersView:
    """In the context as `letters`. `mails`: whether this installation sends any."""

    rows: tuple[LetterRow, ...]
    pages: Pages
    back_href: str
    here: str
    mails: bool
    empty: Empty | None
    now: datetime
    notice: Notice | None = None
