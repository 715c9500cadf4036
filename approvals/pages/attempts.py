"""The numbered attempts of an effect, and what is known of each."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from approvals.presentation.progress import AttemptRow
from checkpoints.models import Attempt, Effect, Tool

SPEAKING: Final = ("why", "error", "status", "address")


def attempt_rows(
    effect: Effect, attempts: Sequence[Attempt], *, mode: str, agent: str
) -> tuple[AttemptRow, ...]:
    """Oldest first; a settled effect ends with how it was found out."""
    by = "Keyturn" if mode == Tool.Mode.MANAGED else agent
    return tuple(
        row for attempt in attempts for row in _rows(effect, attempt, attempts[-1], by)
    )


def _rows(
    effect: Effect, attempt: Attempt, last: Attempt, by: str
) -> Iterator[AttemptRow]:
    yield AttemptRow(
        state="started",
        at=attempt.created_at,
        by=by,
        recorded=f"By writer {attempt.fence} of the run",
        number=attempt.number,
    )
    if attempt.ended_at is not None:
        known = attempt.outcome == effect.state == "confirmed"
        yield AttemptRow(
            state=attempt.outcome,
            at=attempt.ended_at,
            by=by,
            recorded=evidence_words(attempt.evidence),
            number=attempt.number,
            external_id=effect.external_id if known else "",
        )
    settled = attempt.number == last.number and effect.state != attempt.outcome
    if settled and effect.ended_at is not None:
        yield AttemptRow(
            state=effect.state,
            at=effect.ended_at,
            by="Keyturn",
            recorded="Found out afterwards",
            external_id=effect.external_id,
        )


def evidence_words(evidence: Mapping[str, Any]) -> str:
    """The few members of an evidence that say what was seen."""
    said = [f"{name} {evidence[name]}" for name in SPEAKING if evidence.get(name)]
    return ", ".join(said) or "Reported"
