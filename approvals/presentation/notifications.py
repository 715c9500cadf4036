"""What somebody is told of, and when."""

from collections.abc import Mapping
from dataclasses import dataclass

from approvals.presentation.shell import Notice


@dataclass(frozen=True, slots=True, kw_only=True)
class PaceChoice:
    """One pace of one kind of notice."""

    value: str
    text: str
    chosen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class KindRow:
    """One kind of notice: what it tells of, and the paces that it can have."""

    name: str
    title: str
    sentence: str
    paces: tuple[PaceChoice, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationsView:
    """In the context as `notifications`. `mails`: whether this installation sends any.

    `typed` has times and zone as text; `errors` a sentence by field.
    """

    here: str
    email: str
    mails: bool
    kinds: tuple[KindRow, ...]
    typed: Mapping[str, str]
    zones: tuple[str, ...]
    errors: Mapping[str, str]
    notice: Notice | None = None
