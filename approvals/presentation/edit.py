"""Editing: one control per value, its type kept; what an edit costs.

A control's form name is the JSON pointer of its value, percent-encoded, because a
browser rewrites line breaks in names. `reading` takes the posted texts back.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from approvals.presentation.arguments import ArgumentNode
from approvals.presentation.moved import Moved
from approvals.presentation.proof import Proof


def first_wrong(errors: Mapping[str, str]) -> str:
    """The field that is wrong first; '' where none is, or the form as a whole."""
    return "" if "" in errors else next(iter(errors), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """One value's control. `kind` is one of

    text, long, date, number, boolean, choice: editable, `text` is what the field says;
    fixed: shown, never posted; group, list: `children`; table: `columns` and `rows`
    (a cell is None where an object lacks that key).

    `choices` are (posted text, words). `nullable` adds a box named `name` + "#null"
    that is ticked when `null`. `absent` means that the value is not there yet: left
    empty, it stays away. `original` is the exact text before the edit.
    """

    name: str
    pointer: str
    label: str
    kind: str
    note: str = ""
    hint: str = ""
    original: str = ""
    text: str = ""
    choices: tuple[tuple[str, str], ...] = ()
    nullable: bool = False
    null: bool = False
    was_null: bool = False
    absent: bool = False
    required: bool = False
    error: str = ""
    children: tuple["Control", ...] = ()
    columns: tuple[str, ...] = ()
    rows: tuple[tuple["Control | None", ...], ...] = ()

    @property
    def edited(self) -> bool:
        kept = (self.text, self.null) == (self.original, self.was_null)
        return not kept and self.kind != "fixed"

    @property
    def null_name(self) -> str:
        return f"{self.name}#null"


@dataclass(frozen=True, slots=True, kw_only=True)
class EditCost:
    """One consequence of the edit. `text` says it, `note` says why."""

    icon: str
    text: str
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One value before and after; None where there is none."""

    pointer: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EditView:
    """In the context as `edit`.

    First step: `controls` POST to `href` with digest and reason. Second step:
    `differences` and `tree` (the arguments as they would be) are set, and the form
    POSTs verdict=edit, digest, reason and `arguments_text` (JSON, as `arguments`) to
    `decide_href`. `counts` says whether the editor's own key counts afterwards, `expiry`
    whether another time to decide holds then. `begin` names the field that takes the focus.
    """

    label: str
    title: str
    tool: str
    href: str
    case_href: str
    decide_href: str
    digest: str
    revision: int
    now: datetime
    controls: tuple[Control, ...]
    costs: tuple[EditCost, ...] = ()
    counts: bool = False
    expiry: Moved | None = None
    begin: str = ""
    reason: str = ""
    reason_required: bool = False
    reauthentication: Proof | None = None
    errors: Mapping[str, str] = field(default_factory=dict)
    differences: tuple[Difference, ...] = ()
    tree: ArgumentNode | None = None
    arguments_text: str = ""

    @property
    def next_revision(self) -> int:
        return self.revision + 1
