"""The audit log, and whether it was found whole."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from approvals.presentation.shell import Empty, Notice, Pages

# Names of files: the signed export, what checks it elsewhere, and by what.
BUNDLE: Final = "audit-bundle.ndjson"
SCRIPT: Final = "verify_export.py"
KEYS: Final = "audit-public.pem"
ANCHORS: Final = "anchors.ndjson"


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryRow:
    """One entry. `actor` is a name, `subject_href` leads to its page if it has one.

    `said` is the entry's data as text, empty if it has none. The short `hash` is the
    link of the chain.
    """

    seq: int
    at: datetime
    kind: str
    actor: str
    actor_href: str
    history_href: str  # everything that a member did
    subject: str
    subject_href: str
    about_href: str
    said: str
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationBox:
    """The last verification: `state` as the model has it, or `silent`, or '' for none.

    `percent` and the counts tell how far one that runs has come.
    """

    state: str = ""
    asked_by: str = ""
    asked_at: datetime | None = None
    ended_at: datetime | None = None
    done: int = 0
    total: int = 0
    percent: int = 0
    speed: int = 0
    anchors: int = 0
    flaw: str = ""
    flaw_href: str = ""

    @property
    def runs(self) -> bool:
        return self.state in {"waiting", "running"}


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorRow:
    """The head of the chain as it was written elsewhere."""

    seq: int
    at: datetime
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Elsewhere:
    """What checks the signed export on another machine: names and addresses of files."""

    files: tuple[tuple[str, str], ...]

    @property
    def command(self) -> str:
        """What is typed where they all are."""
        return f"python {SCRIPT} {BUNDLE} --key {KEYS} --anchors {ANCHORS}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One of a filter's choices."""

    value: str
    text: str
    chosen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditView:
    """In the context as `audit`. `typed` and `errors` are the filter's, by field."""

    now: datetime
    entries: int
    rows: tuple[EntryRow, ...]
    pages: Pages
    verification: VerificationBox
    anchors: tuple[AnchorRow, ...]
    kinds: tuple[Choice, ...]
    people: tuple[Choice, ...]
    typed: Mapping[str, str]
    errors: Mapping[str, str]
    filtered: bool
    verify_href: str
    export_href: str
    elsewhere: Elsewhere
    all_href: str
    broken_href: str
    retention_href: str
    empty: Empty | None = None
    notice: Notice | None = None
