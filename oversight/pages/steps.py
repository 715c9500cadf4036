"""What each kind of row tells in the story of a run."""

from collections.abc import Sequence
from typing import Any, Final

from approvals.delegations import decider
from approvals.models import Decision, Request, Revision, VerificationReport
from approvals.pages.addresses import address, short_name
from approvals.pages.attempts import attempt_rows
from approvals.pages.case.reading import Reading
from approvals.pages.case.timeline import (
    decision_rows,
    given_words,
    transition_words,
)
from approvals.pages.pins import pins_of
from approvals.presentation.arguments import exact_text
from approvals.presentation.case import Link
from approvals.presentation.marks import mark
from checkpoints.models import Attempt, Checkpoint, Effect
from oversight.presentation.run import (
    CheckpointStory,
    EffectStory,
    FactChange,
    ReportStory,
    StoryStep,
)
from sessions.models import Transition


def transition_step(row: Transition, reading: Reading) -> StoryStep:
    """A change of state or stage, or of facts; the agent's own reason is marked so."""
    moved = mark("run", row.to_state)
    by_agent = row.actor_type == "agent"
    return StoryStep(
        at=row.created_at,
        icon="context" if row.changes else moved.icon,
        heading=transition_words(row),
        sentence="" if by_agent else row.reason,
        said=row.reason if by_agent else "",
        said_by_agent=by_agent,
        facts=tuple(
            fact_change(name, said, reading.shows(name))
            for name, said in row.changes.items()
        ),
    )


def fact_change(name: str, said: dict[str, Any], shown: bool) -> FactChange:
    """One field of a transition; its values only where they are `shown`."""
    return FactChange(
        name=name,
        before=exact_text(said["from"]) if "from" in said and shown else None,
        after=exact_text(said["to"]) if "to" in said and shown else None,
        provenance=str(said.get("provenance", "model")),
        withheld=not shown,
    )


def checkpoint_step(row: Checkpoint) -> StoryStep:
    closes = f"It closes {len(row.closes)} of the run’s requests." if row.closes else ""
    return StoryStep(
        at=row.created_at,
        icon="checkpoint",
        heading=f"Checkpoint {row.number}",
        sentence=closes,
        anchor=f"checkpoint-{row.number}",
        checkpoint=checkpoint_story(row),
    )


def checkpoint_story(row: Checkpoint) -> CheckpointStory:
    return CheckpointStory(
        number=row.number,
        digest=bytes(row.digest).hex(),
        schema_version=row.schema_version,
        completed=_names(row.header.get("completed")),
        pending=_names(row.header.get("pending")),
        parent=row.parent,
    )


def _names(said: Any) -> tuple[str, ...]:
    """The agent's own step names, whatever it put there."""
    return tuple(map(exact_text, said)) if isinstance(said, list) else ()


def revision_step(row: Revision, request: Request, slug: str) -> StoryStep:
    return StoryStep(
        at=row.created_at,
        icon="request",
        heading="Asked" if row.number == 1 else f"Asked again, revision {row.number}",
        title=request.title if row.number == 1 else "",
        said=row.reason if row.author_type == "member" else "",
        links=_to_case(request, slug),
    )


def decision_step(row: Decision, request: Request, slug: str) -> StoryStep:
    found = mark("verdict", row.verdict)
    return StoryStep(
        at=row.created_at,
        icon=found.icon,
        tone=found.tone,
        heading=f"{decider(row)} {given_words(row)}",
        decision=decision_rows(slug, [row])[0],
        links=_to_case(request, slug),
    )


def report_step(row: VerificationReport, request: Request, slug: str) -> StoryStep:
    """The four checks before an action; or the two before the agent is woken."""
    heading = PASSED[row.door] if row.passed else "Refused: nothing was sent"
    return StoryStep(
        at=row.created_at,
        icon="pass" if row.passed else "fail",
        tone="ok" if row.passed else "bad",
        heading=heading,
        report=None if row.passed and row.door == "wake" else _report(row),
        links=_to_case(request, slug),
    )


PASSED: Final = {
    "act": "Verified, and sent",
    "ready": "Verified: its agent may redeem",
    "redeem": "Redeemed: verified, and handed over",
    "wake": "The agent was woken with the answer",
}


def _report(row: VerificationReport) -> ReportStory:
    ready = "All four held. They are asked again when the agent redeems."
    return ReportStory(
        passed=row.passed,
        pins=pins_of(row),
        code=row.code,
        refusal_class=row.refusal,
        sentence=ready if row.passed and row.door == "ready" else row.reason,
    )


def effect_step(row: Effect, attempts: Sequence[Attempt], agent: str) -> StoryStep:
    found = mark("effect", row.state)
    return StoryStep(
        at=row.created_at,
        icon=found.icon,
        tone=found.tone,
        heading=f"Effect {found.word.lower()}",
        effect=EffectStory(
            id=str(row.id),
            tool=row.tool.name,
            state=row.state,
            key=bytes(row.key).hex(),
            attempts=attempt_rows(row, attempts, mode=row.tool.mode, agent=agent),
            external_id=row.external_id,
        ),
    )


def _to_case(request: Request, slug: str) -> tuple[Link, ...]:
    href = address("case", slug, request.id)
    return (Link(text=short_name("REQ", request.id), href=href),)
