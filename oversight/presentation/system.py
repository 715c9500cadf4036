"""How the installation is, and what waits in it for this tenant."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingRow:
    """One thing that was looked at; `advice` says what to do unless it is well."""

    name: str
    state: str
    detail: str
    advice: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkRow:
    """Work of one sort: how much waits, since when, and what needs a person."""

    name: str
    waiting: int
    since: datetime | None
    stuck: int
    href: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemView:
    """In the context as `system`. `answer` says in one sentence how it is."""

    now: datetime
    answer: str
    tone: str
    findings: tuple[FindingRow, ...]
    work: tuple[WorkRow, ...]
    readiness_href: str
