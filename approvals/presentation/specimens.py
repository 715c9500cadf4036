"""One specimen of each component in each of its states, for the style guide."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from approvals.presentation.arguments import Money, argument_tree
from approvals.presentation.case import (
    CaseView,
    ExactAction,
    FactRow,
    Keys,
    Link,
    Remarks,
    SecretRow,
)
from approvals.presentation.desk import VERDICTS, Desk, RecapRow, SheetState
from approvals.presentation.edit import Control
from approvals.presentation.marks import KINDS
from approvals.presentation.progress import CHECKS, CheckPin, Progress, Step
from approvals.presentation.proof import Proof
from approvals.presentation.queue import Facet, QueueRow, QueueView
from approvals.presentation.saved_views import SavedViewRow, SavedViewsPage
from approvals.presentation.shell import Empty, Notice, Pages
from approvals.presentation.specimen_case import specimen_case, taken_states, theirs

NOW: Final = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
DIGEST: Final = "9f3c2b71" * 8
HOSTILE: Final = "ACME\u200b GmbH \u202eexe.fdp"
ARGUMENTS: Final[Mapping[str, Any]] = {
    "payee": HOSTILE,
    "amount": "1240.00",
    "currency": "EUR",
    "pieces": 40,
    "urgent": False,
    "note": None,
    "empty": "",
    "lines": [{"item": "TN-150", "each": "93.00"}, {"item": "TN-450", "pieces": 2}],
    "address": {"city": "Zürich", "numbers": [1, 2]},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Specimens:
    """In the context as `guide`."""

    marks: Mapping[str, tuple[str, ...]]
    risks: tuple[str, ...]
    keys: tuple[Keys, ...]
    notices: tuple[Notice, ...]
    empty: Empty
    queue: QueueView
    decided: QueueView
    saved: SavedViewsPage
    case: CaseView
    theirs: CaseView
    taken: tuple[Remarks, ...]
    controls: tuple[Control, ...]
    progress: tuple[Progress, ...]
    desk: Desk
    closed: Desk
    pages: Pages
    hostile: str = HOSTILE
    now: datetime = NOW


def specimens() -> Specimens:
    case = specimen_case(_exact(), _facts(), NOW)
    return Specimens(
        marks={kind: tuple(words) for kind, words in KINDS.items() if kind != "risk"},
        risks=tuple(KINDS["risk"]),
        keys=tuple(Keys(turned=n, needed=m) for m in (1, 2, 3) for n in range(m + 1)),
        notices=tuple(
            Notice(
                title=f"A notice{f' that is {tone}' if tone else ''}",
                sentence="What happened, what did not, what now.",
                code="authority.policy_changed" if tone == "bad" else "",
                tone=tone,
            )
            for tone in ("", "warn", "bad")
        ),
        empty=Empty(
            title="Nothing needs your key",
            sentence="7 requests wait for others.",
            label="Show all open",
            href="#empty",
        ),
        queue=_queue(),
        decided=_decided(),
        saved=_saved(),
        case=case,
        theirs=theirs(case),
        taken=taken_states(NOW),
        controls=_controls(),
        progress=tuple(_progress(state) for state in STATES),
        desk=_desk(),
        closed=_desk(closed="You own this agent: the key must be somebody else’s."),
        pages=Pages(shown=50, total=120, previous_href="#pages", next_href="#pages"),
    )


def _queue() -> QueueView:
    rows = (
        _row("critical", current=True, keys=Keys(turned=1, needed=2)),
        _row("high", disguised=3, title=f"Pay {HOSTILE}"),
        _row("medium", reopened=True, decide_by=NOW + timedelta(minutes=9)),
        _row("low", alike=Link(text="4 alike", href="#alike"), wants_answer=True),
        _row("low", taken_by="Maren", taken_until=NOW + timedelta(minutes=9)),
        _row("low", status="changes_requested"),
        _row("medium", others=True, unusual=True),
        _row("medium", behalf=("Aino Rask",)),
        _row("medium", behalf=("Aino Rask", "Olav Dahl")),
        _row("critical", title=f"free {HOSTILE}", title_is_ours=False),
        _folding(),
    )
    return QueueView(
        heading="All open",
        rows=rows,
        pages=Pages(shown=len(rows), total=len(rows)),
        now=NOW,
        facets=tuple(
            Facet(value=one, label=one.capitalize(), count=2, href="#list")
            for one in KINDS["risk"]
        ),
        filtered_by=(Facet(value="tool", label="Tool: pay", count=0, href="#list"),),
        together_href="#together",
    )


def _folding() -> QueueRow:
    """Alike ones stand behind the first of them, and more than are drawn."""
    folded = tuple(_row("low", title=f"Tag {n} tickets", place=n) for n in range(2, 4))
    first = Link(text="9 alike", href="#alike")
    return _row("low", title="Tag 1 ticket", alike=first, folded=folded, more=8)


def _decided() -> QueueView:
    rows = (
        _row("high", status="rejected", outcome="Rejected by Maren", decided_at=NOW),
        _row("low", status="approved", outcome="Approved by Maren", decided_at=NOW),
    )
    return replace(
        _queue(),
        heading="Decided",
        rows=rows,
        pages=Pages(shown=len(rows)),
        undo=True,
        facets=(),
        filtered_by=(),
    )


def _saved() -> SavedViewsPage:
    plain = SavedViewRow(
        id="saved-1",
        name="Grave",
        href="#views",
        words="All open; high risk",
        shared=False,
        default=True,
        changeable=True,
    )
    rows = (
        plain,
        replace(plain, id="saved-2", default=False, error="You have one so called."),
        replace(plain, id="saved-3", default=False, shared=True, changeable=False),
    )
    return SavedViewsPage(
        href="#views",
        queue_href="#list",
        heading="All open",
        rows=rows,
        may_share=True,
    )


def _row(risk: str, place: int = 0, **other: Any) -> QueueRow:
    said = {
        "title": "Pay 1240.00 to Halden Paper Supply",
        "status": "pending",
        "decide_by": NOW + timedelta(hours=5),
        "title_is_ours": True,
        "tickable": True,
        **other,
    }
    return QueueRow(
        id=f"{risk}-{len(repr(sorted(other)))}-{place}",
        href="#list",
        tool="pay",
        agent="robot",
        risk=risk,
        size="€1,240.00",
        **said,
    )


def _exact() -> ExactAction:
    return ExactAction(
        tool="pay",
        mode="managed",
        arguments=argument_tree(dict(ARGUMENTS), None),
        target="billing@halden.example",
        digest=DIGEST,
        envelope="{}",
        size=240,
        money=Money(name="amount", currency="EUR", amount="1240.00"),
        disguised=2,
        secrets=(
            SecretRow(name="bank", place="/token", tool="pay", host="bank.example"),
            SecretRow(name="old", place="/token", tool="pay", why="It was removed"),
        ),
    )


def _facts() -> tuple[FactRow, ...]:
    rows = [
        FactRow(name=f"from_{one}", value="true", provenance=one, observed_at=NOW)
        for one in KINDS["provenance"]
    ]
    withheld = FactRow(name="salary", value="", provenance="tool", withheld=True)
    lapsed = FactRow(name="stock", value="12", provenance="tool", lapsed=True)
    return (*rows, withheld, lapsed)


def _controls() -> tuple[Control, ...]:
    kinds = ("text", "long", "date", "number", "boolean", "choice", "fixed")
    plain = tuple(_control(kind) for kind in kinds)
    edited = _control("text", label="edited", original="1240.00", text="9.00")
    wrong = _control("text", label="wrong", error="This is needed.", required=True)
    return (*plain, edited, wrong)


def _control(kind: str, **other: Any) -> Control:
    label = other.pop("label", kind)
    choices = (("4100", "4100"), ("4200", "4200")) if kind == "choice" else ()
    said = {
        "text": "",
        "original": "",
        "hint": f"A control of the kind {kind}.",
        **other,
    }
    return Control(
        name=f"guide-{label}",
        pointer=f"/{label}",
        label=label,
        kind=kind,
        choices=choices,
        **said,
    )


STATES: Final = (
    "queued",
    "verifying",
    "acting",
    "confirmed",
    "failed",
    "refused",
    "unknown",
    "needs_attention",
)


def _progress(state: str) -> Progress:
    refused = state == "refused"
    return Progress(
        state=state,
        headline=state.replace("_", " ").capitalize(),
        sentence="What happened, what did not, what now.",
        steps=(
            Step(label="Approved", state="done", at=NOW),
            Step(label="Checked", state="bad" if refused else "now", at=NOW),
            Step(label="Sent"),
        ),
        pins=tuple(_pin(name, state) for name in CHECKS),
        code="authority.policy_changed" if refused else "",
        refusal_class="reopen" if refused else "",
        external_id="EX-1" if state == "confirmed" else "",
    )


def _pin(name: str, state: str) -> CheckPin:
    known = {"queued": "idle", "verifying": "moving"}.get(state, "set")
    blocked = state == "refused" and name == "authority"
    return CheckPin(
        name=name, state="blocked" if blocked else known, sentence="What it looked at."
    )


def _desk(*, closed: str = "") -> Desk:
    return Desk(
        href="#desk",
        edit_href="#desk",
        digest=DIGEST,
        agent="robot",
        mode="managed",
        turned=1,
        needed=2,
        recap=(RecapRow(label="Runs", text="pay", exact=True),),
        blocked=dict.fromkeys(VERDICTS, closed) if closed else {"edit": "Not yours."},
        reason="always",
        reauthentication=Proof(field="password"),
        dismisses=("Maren Lindqvist",),
        form=SheetState(verdict="reject", errors={"reason": "Say why."}, kept=True),
        closed=closed,
    )
