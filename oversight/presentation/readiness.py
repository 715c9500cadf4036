"""Whether a tenant can be relied on in production: graded, with what to do."""

from dataclasses import dataclass
from datetime import datetime

from oversight.presentation.system import FindingRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was looked at. `state` is ok, warning or failed.

    `advice` says what to do unless it is well, and `href` leads to where.
    """

    name: str
    state: str
    found: str
    advice: str = ""
    href: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """Checks that belong together."""

    name: str
    told: str
    checks: tuple[Check, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadinessView:
    """In the context as `ready`. `grade` is ready, nearly or not."""

    now: datetime
    grade: str
    answer: str
    areas: tuple[Area, ...]
    findings: tuple[FindingRow, ...]
    system_href: str
