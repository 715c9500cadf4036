"""The decision bar and its sheets: five answers, each in two steps."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from approvals.presentation.edit import Control, first_wrong
from approvals.presentation.leave import Pick
from approvals.presentation.proof import Proof

VERDICTS = ("reject", "respond", "request_changes", "edit", "approve")
ACTS: Mapping[str, str] = {
    "reject": "Reject",
    "respond": "Respond",
    "request_changes": "Ask for changes",
    "edit": "Edit",
    "approve": "Approve",
}
# The answers that are given on a sheet of the page, by its id.
SHEETS: Mapping[str, str] = {
    "approve": "sheet-approve",
    "reject": "sheet-reject",
    "request_changes": "sheet-changes",
    "respond": "sheet-respond",
}
NOT_OFFERED = "The agent asks for another kind of answer."
ORDINALS = ("first", "second", "third", "fourth", "fifth")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecapRow:
    """One line that an approval repeats before it turns the key.

    `exact`: a value, or a name from the code; `theirs`: an agent's own word.
    """

    label: str
    text: str
    exact: bool = False
    theirs: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SheetState:
    """A form that came back: what was typed and what is wrong with it.

    `errors` maps a field's name (reason, response, digest, or a control's name) to a
    sentence; "" holds what concerns the form as a whole. What was typed is in its sheet
    again, which is open; with `kept` it is closed, to be opened again after reading.
    """

    verdict: str
    values: Mapping[str, str] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)
    kept: bool = False

    @property
    def begin(self) -> str:
        """The field that takes the focus."""
        return first_wrong(self.errors)


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """Everything the decision bar needs.

    Forms POST to `href` with: csrfmiddlewaretoken, verdict, digest, and reason or
    response (or the names of `reply` controls). `edit_href` is a page of its own; `ahead`
    draws what follows once that answer is given.
    `blocked` maps a verdict to the reason why this person cannot give it now; a
    verdict that is not in it is offered. `reason` is none, on_reject or always.
    `turned` and `needed` count keys before this decision; `dismisses` names people
    whose keys a reject, edit or change would dismiss. `reasons` are ready-made ones
    to reject with. `closed` says why this person can give no answer at all; '' where
    they can give one. `take_back_href`: they have given one, and it ends theirs with the
    digest alone. `behalf` is in whose name it can be given, oneself first; of
    nobody else there is nothing to choose.
    """

    href: str
    edit_href: str
    digest: str
    agent: str
    mode: str
    turned: int
    needed: int
    recap: tuple[RecapRow, ...] = ()
    blocked: Mapping[str, str] = field(default_factory=dict)
    reason: str = "on_reject"
    reasons: tuple[str, ...] = ()
    reauthentication: Proof | None = None
    dismisses: tuple[str, ...] = ()
    reply: tuple[Control, ...] = ()
    behalf: tuple[Pick, ...] = ()
    form: SheetState | None = None
    closed: str = ""
    take_back_href: str = ""
    ahead: Mapping[str, str] = field(default_factory=dict)

    @property
    def filled(self) -> Mapping[str, SheetState]:
        """The form whose words go back into their sheet, by verdict."""
        return {self.form.verdict: self.form} if self.form else {}

    @property
    def returned(self) -> str:
        """The verdict whose sheet is open from the first, where its form came back."""
        return self.form.verdict if self.form and not self.form.kept else ""

    @property
    def sheets(self) -> tuple[tuple[str, str], ...]:
        """Each verdict that this person can give, and the id of its sheet."""
        return tuple(one for one in SHEETS.items() if one[0] not in self.blocked)

    @property
    def answers_only(self) -> bool:
        """Whether nothing is to run: words are asked for, and this person gives them."""
        offered = "respond" not in self.blocked
        return offered and self.blocked.get("approve") == NOT_OFFERED

    @property
    def withheld(self) -> tuple[tuple[str, str], ...]:
        """What this person cannot do, as the buttons name it, and why."""
        return tuple((ACTS[verdict], why) for verdict, why in self.blocked.items())

    @property
    def last(self) -> bool:
        """Whether this person's key would be the one that completes the obligation."""
        return self.turned + 1 >= self.needed

    @property
    def ordinal(self) -> str:
        """'only', 'second', … : which key this person would turn."""
        if self.needed == 1:
            return "only"
        return ORDINALS[self.turned] if self.turned < len(ORDINALS) else "next"
