"""Several requests before one answer, and what came of it for each."""

from dataclasses import dataclass

from approvals.presentation.case import ExactAction


@dataclass(frozen=True, slots=True, kw_only=True)
class TogetherRow:
    """One request. `refused` says why it is not among those that are answered."""

    id: str
    label: str
    title: str
    href: str
    exact: ExactAction
    refused: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TogetherPage:
    """In the context as `page`.

    Before the answer `offered` are those that it would be given to, and `refused` the
    others; after it (`answered`), those that it was recorded for, and not. `more` says
    that some were left out because there were too many.
    """

    verdict: str
    href: str
    back_href: str
    tool: str
    offered: tuple[TogetherRow, ...]
    refused: tuple[TogetherRow, ...]
    kept: tuple[tuple[str, str], ...] = ()
    more: bool = False
    answered: bool = False
    error: str = ""
    reason: str = ""
