"""The page of saved views."""

from dataclasses import dataclass

from approvals.presentation.shell import Empty, Notice


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedViewRow:
    """One view. `words` says what it narrows to; `error` is why its form came back."""

    id: str
    name: str
    href: str
    words: str
    shared: bool
    default: bool
    changeable: bool
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedViewsPage:
    """In the context as `page`. The form saves what `heading` says, and POSTs to `href`.

    `notice` tells what was done to a view just now.
    """

    href: str
    queue_href: str
    heading: str
    rows: tuple[SavedViewRow, ...]
    may_share: bool
    empty: Empty | None = None
    notice: Notice | None = None
    error: str = ""
    name: str = ""
