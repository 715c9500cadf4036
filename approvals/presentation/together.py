"""Several requests before one answer, and what came of it for each."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from approvals.presentation.case import ExactAction


@dataclass(frozen=True, slots=True, kw_only=True)
class TogetherRow:
    """One request. `refused` says why it is not among those that are answered.

    `waits_until` is when an approval can be used, while that is still to come; `state`
    is how the request stands once it is answered.
    """

    id: str
    label: str
    title: str
    href: str
    exact: ExactAction
    refused: str = ""
    waits_until: datetime | None = None
    state: str = ""


@dataclass(frozen=True, slots=True)
class Wording:
    """What the page says of an answer, before it and after it."""

    act: str
    done: str
    before: str
    after: str


WORDINGS: Final[Mapping[str, Wording]] = {
    "approve": Wording(
        act="Approve",
        done="approved",
        before="Low risk, one tool, each by a decision of its own. Read every frame: "
        "what is in it is what runs.",
        after="Four checks come before each of them acts. Until then each can be "
        "revoked, here or on its page.",
    ),
    "reject": Wording(
        act="Reject",
        done="rejected",
        before="Each by a decision of its own. Nothing is sent, and their agents are "
        "told your reason.",
        after="Nothing was sent. Their agents are told.",
    ),
    "revoke": Wording(
        act="Revoke",
        done="revoked",
        before="What is still ticked below is taken back, each by itself. What was "
        "executed meanwhile cannot be: then it says so.",
        after="Nothing is sent under these approvals. Their agents are told.",
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TogetherPage:
    """In the context as `page`.

    Before the answer `offered` are those that it would be given to, and `refused` the
    others; after it (`answered`), those that it was recorded for, and not. `more` says
    that some were left out because there were too many.
    `undo_href` leads to where those that were approved just now can be revoked,
    `onward_href` to what becomes of them; `stand_href` tells how they stand by then.
    """

    verdict: str
    href: str
    back_href: str
    tool: str
    offered: tuple[TogetherRow, ...]
    refused: tuple[TogetherRow, ...]
    now: datetime
    undo_href: str = ""
    onward_href: str = ""
    stand_href: str = ""
    more: bool = False
    answered: bool = False
    error: str = ""
    reason: str = ""

    @property
    def wording(self) -> Wording:
        return WORDINGS[self.verdict]

    @property
    def needs_reason(self) -> bool:
        return self.verdict != "approve"
