"""In place of what was left out: a summary, marked as what it is, that proves nothing."""

from collections.abc import Callable, Sequence
from typing import Final

from approvals.context.groups import Group
from approvals.context.items import Entry, Part
from approvals.context.pieces import Piece, Trust, quoted, tokens_in, trust_of
from approvals.context.stored import StandingSummary

type Summariser = Callable[[Sequence[Entry]], str]
"""Text in place of items. It may fail, lie or say nothing: it is trusted with nothing."""

EXCERPT: Final = 120  # characters of each thing that is quoted
HEAD: Final = "Summary of earlier items, made without a model. It proves nothing."
DERIVED: Final = "in place of items that found no room"


def extract(entries: Sequence[Entry]) -> str:
    """The default summariser: a line for each item, quoting its beginning."""
    return "\n".join(line for entry in entries for line in _lines(entry))


def extractive_piece(groups: Sequence[Group], most: int) -> Piece | None:
    """The newest lines that fit into `most` tokens; None when not even one does."""
    entries = [entry for group in groups for entry in group.entries]
    lines: list[str] = []
    text = ""
    for line in reversed([one for entry in entries for one in _lines(entry)]):
        longer = _summary_text([line, *lines])
        if tokens_in(longer) > most:
            break
        lines, text = [line, *lines], longer
    if not lines:
        return None
    return Piece(
        key=f"summary:{entries[0].position}-{entries[-1].position}",
        kind="summary",
        provenance="system",
        trust=Trust.DERIVED,
        text=text,
        why=DERIVED,
        reference="extract/1",
    )


def stored_piece(standing: StandingSummary) -> Piece:
    """A summary that somebody made, as a quotation: it can add no line of ours."""
    summary = standing.summary
    trust, flags = trust_of([standing.text], Trust.DERIVED)
    by = "the agent's model" if summary.method == "agent" else summary.method
    return Piece(
        key=f"summary:{summary.id}",
        kind="summary",
        provenance="model" if summary.method == "agent" else "system",
        trust=trust,
        text=f"Summary of items {summary.first} to {summary.last}, by {by}. It proves"
        f" nothing: {quoted(standing.text, 20_000)}",
        why=DERIVED,
        reference=summary.method,
        flags=flags,
    )


def _summary_text(lines: Sequence[str]) -> str:
    return " ".join([HEAD, *lines])


def _lines(entry: Entry) -> list[str]:
    if entry.flags:
        said = ", ".join(entry.flags)
        return [f"[{entry.position}] (quarantined, not quoted: {said})"]
    return [_line(entry, part) for part in entry.parts if part.kind != "reasoning"]


def _line(entry: Entry, part: Part) -> str:
    match part.kind:
        case "message":
            who = part.role if part.role in {"user", "assistant"} else "recorded"
            return f"[{entry.position}] {who}: {quoted(part.text, EXCERPT)}"
        case "call":
            name = quoted(part.name, 60)
            return f"[{entry.position}] called {name}: {quoted(part.text, EXCERPT)}"
        case "result":
            return f"[{entry.position}] result: {quoted(part.text, EXCERPT)}"
    return f"[{entry.position}] {part.kind}"
