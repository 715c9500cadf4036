"""Who could have approved a request at a time, and under which policies."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonThen:
    """Somebody by name; `href` leads to what they did."""

    name: str
    href: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleRow:
    """One rule: how many of whom."""

    approvals: int
    wanted: str
    people: tuple[PersonThen, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyThen:
    """A policy's revision that asked for it; `href` is empty once it has no name."""

    name: str
    revision: int
    digest: str
    href: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OwedThen:
    """What was asked for, `verdict` in words, and by which policies."""

    verdict: str
    rules: tuple[RuleRow, ...]
    policies: tuple[PolicyThen, ...]
    excluded: tuple[PersonThen, ...]
    short: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreedRow:
    """A standing approval that held then. `why_not` it answered, or nothing: it did."""

    label: str
    href: str
    author: PersonThen | None
    left: int
    uses: int
    expires_at: datetime
    why_not: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GlassRow:
    """Who could have broken the glass with a sign-in of `seconds`, or why nobody."""

    people: tuple[PersonThen, ...]
    seconds: int
    why_not: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RightsThenView:
    """In the context as `rights`. Without `answer` nothing could be told: see `errors`.

    `typed` is the time as it was written; `at` what it means. What it `became` at
    `ended_at` is why nobody can now; nobody named a time where it is told of `just_before`.
    """

    now: datetime
    case_href: str
    label: str
    title: str
    here: str
    typed: str
    zone: str  # in which `typed` is read
    at: datetime | None = None
    answer: str = ""
    revision: int = 0
    digest: str = ""
    pinned: OwedThen | None = None
    current: OwedThen | None = None
    agreed: tuple[AgreedRow, ...] = ()
    glass: GlassRow | None = None
    spoilt: int = 0
    entries: int = 0
    unsigned: int = 0
    became: str = ""
    ended_at: datetime | None = None
    just_before: bool = False
    json_href: str = ""
    errors: Mapping[str, str] = field(default_factory=dict)
