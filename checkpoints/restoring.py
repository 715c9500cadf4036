"""Going back to a checkpoint: is it what was saved, can it be read, what happened since.

Reads only. What is found is either `Restored` or `Unreadable`; the report says the same
of both, so that whoever has to act on it need not ask again.
"""

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from checkpoints.checkpoint import (
    CHECKPOINT_CORRUPTED,
    SCHEMA_UNSUPPORTED,
    is_intact,
)
from checkpoints.models import Checkpoint, Effect
from checkpoints.queries import effects_in, runs_behind
from checkpoints.schemas import todays, way_to_read
from checkpoints.upgrades import Applied, Content, Step, StepFailed, upgrade
from checkpoints.vault import open_payload
from kernel.problems import Kind, Problem
from kernel.sealing import Unreadable as NotOpened
from sessions.hooks import hooks
from sessions.models import Run

GROUPS: Final[Mapping[str, str]] = {
    Effect.State.CONFIRMED: "done",
    Effect.State.FAILED: "failed",
    Effect.State.ABSENT: "not_started",
}
"""Where an effect of that state stands in a report; others are `open`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """A checkpoint as it is read today; the stored bytes are as they were."""

    checkpoint: Checkpoint
    content: Content
    schema_version: int
    steps: tuple[Applied, ...] = ()

    @property
    def code(self) -> str:
        """Nothing was refused."""
        return ""

    @property
    def reason(self) -> str:
        """Nothing was refused."""
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """A checkpoint that nobody may go on from, and what to do instead.

    `reason` is corrupted, newer, no_step or step_failed.
    """

    checkpoint: Checkpoint
    kind: Kind
    reason: str
    advice: str

    @property
    def code(self) -> str:
        """The problem's."""
        return self.kind.code

    @property
    def steps(self) -> tuple[Applied, ...]:
        """None was taken to the end."""
        return ()

    @property
    def schema_version(self) -> int:
        """As it is stored: it was read as nothing."""
        return self.checkpoint.schema_version

    def problem(self) -> Problem:
        """The refusal (409), with all that its reader needs."""
        number = self.checkpoint.number
        return self.kind(self.advice, checkpoint=number, reason=self.reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """An intact checkpoint, and the steps by which it is read today."""

    checkpoint: Checkpoint
    way: tuple[Step, ...]


type Found = Restored | Unreadable


def plan_for(run: Run, checkpoint: Checkpoint) -> Plan | Unreadable:
    """Check the digest, and find out how the content is read today.

    Raises `data_erased` (410) once the session's key was destroyed.
    """
    if not _is_whole(run, checkpoint):
        return _unreadable(checkpoint, CHECKPOINT_CORRUPTED, "corrupted")
    way = way_to_read(run, checkpoint.schema_version)
    if way is not None:
        return Plan(checkpoint=checkpoint, way=way)
    known = todays(run).schema_versions or frozenset()
    newer = checkpoint.schema_version > max(known, default=0)
    reason = "newer" if newer else "no_step"
    return _unreadable(checkpoint, SCHEMA_UNSUPPORTED, reason, known=_listed(known))


def carry_out(plan: Plan | Unreadable) -> Found:
    """Take the steps. Needs no database, and not to be in a transaction: a payload of
    many megabytes takes seconds."""
    if isinstance(plan, Unreadable):
        return plan
    checkpoint, way = plan.checkpoint, plan.way
    saved = Content(checkpoint.payload, checkpoint.header)
    try:
        content, steps = upgrade(saved, way)
    except StepFailed as failed:
        why = f"{failed}: {failed.why}"
        return _unreadable(checkpoint, SCHEMA_UNSUPPORTED, "step_failed", why=why)
    version = way[-1].to_version if way else checkpoint.schema_version
    return Restored(
        checkpoint=checkpoint, content=content, schema_version=version, steps=steps
    )


def report_on(run: Run, found: Found) -> dict[str, Any]:
    """Which checkpoint, what was done to read it, and what the world knows of by now.

    {"checkpoint", "is_head", "digest", "digest_ok", "schema": {"found", "returned",
    "steps": [...]}, "completed", "pending", "effects": {"done", "failed", "open",
    "not_started", "older"}, "code", "reason", "advice"}.
    """
    checkpoint = found.checkpoint
    header = found.content.header if isinstance(found, Restored) else {}
    return {
        "checkpoint": checkpoint.number,
        "is_head": checkpoint.number == run.head_number,
        "digest": bytes(checkpoint.digest).hex(),
        "digest_ok": found.reason != "corrupted",
        "schema": _schema(found),
        "completed": header.get("completed", []),
        "pending": header.get("pending", []),
        "effects": effects_so_far(run),
        "code": found.code,
        "reason": found.reason,
        "advice": found.advice
        if isinstance(found, Unreadable)
        else _how_to_go_on(run, checkpoint),
    }


def stored_report(report: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept of a report: not what its checkpoint holds anyway."""
    of_checkpoint = {"completed", "pending"}
    return {name: said for name, said in report.items() if name not in of_checkpoint}


def effects_so_far(run: Run) -> dict[str, Any]:
    """What the run did to the world, and the runs that it was forked from did.

    `not_started` has what is asked or approved and not carried out, too. All oldest
    first. `older` is how many that have an outcome are not listed, since there are
    very many; none of them is open.
    """
    groups: dict[str, list[dict[str, Any]]] = {
        name: [] for name in ("done", "failed", "open", "not_started")
    }
    effects, older = effects_in([run.id, *runs_behind(run)], settled=GROUPS)
    for effect in effects:
        groups[GROUPS.get(effect.state, "open")].append(_effect(effect))
    groups["not_started"] += _not_begun(run, {effect.request for effect in effects})
    return {**groups, "older": older}


def _not_begun(run: Run, begun: Collection[UUID]) -> list[dict[str, Any]]:
    asked = hooks.open_requests([run.id]).get(run.id, {})
    return [
        _asked(request, state)
        for request, state in asked.items()
        if request not in begun
    ]


def _effect(effect: Effect) -> dict[str, Any]:
    return {
        "run": str(effect.run_id),
        "request": str(effect.request),
        "effect": str(effect.id),
        "tool": effect.tool.name,
        "state": effect.state,
        "external_id": effect.external_id,
    }


def _asked(request: UUID, state: str) -> dict[str, Any]:
    """What was approved may still be used by its run: it is more than asked."""
    said = "approved" if state == "approved" else "asked"
    return {"request": str(request), "state": said}


def _schema(found: Found) -> dict[str, Any]:
    version = found.checkpoint.schema_version
    if isinstance(found, Unreadable):
        return {"found": version, "returned": None, "steps": []}
    steps = [_step(applied) for applied in found.steps]
    return {"found": version, "returned": found.schema_version, "steps": steps}


def _step(applied: Applied) -> dict[str, Any]:
    return {
        "name": applied.step.name,
        "from": applied.step.from_version,
        "to": applied.step.to_version,
        "before": applied.before.hex(),
        "after": applied.after.hex(),
    }


def _how_to_go_on(run: Run, checkpoint: Checkpoint) -> str:
    if checkpoint.number == run.head_number:
        return "Ask what became of open effects before you act again."
    return (
        f"This is not the head, which is {run.head_number}: nothing can follow it in"
        " this run. To go on from here, fork the run."
    )


def _is_whole(run: Run, checkpoint: Checkpoint) -> bool:
    """Its payload is open afterwards. Raises `data_erased` (410)."""
    try:
        payload = open_payload(checkpoint, session_id=run.session_id)
    except NotOpened:
        return False
    whole = is_intact(checkpoint, hashlib.sha256(payload).digest())
    if checkpoint.number == run.head_number:
        whole &= bytes(checkpoint.digest) == bytes(run.head_digest or b"")
    return whole


def _unreadable(
    checkpoint: Checkpoint, kind: Kind, reason: str, **said: str
) -> Unreadable:
    advice = ADVICE[reason].format(
        number=checkpoint.number,
        version=checkpoint.schema_version,
        earlier=_earlier(checkpoint),
        **said,
    )
    return Unreadable(checkpoint=checkpoint, kind=kind, reason=reason, advice=advice)


def _listed(versions: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(versions))) or "none"


def _earlier(checkpoint: Checkpoint) -> str:
    if checkpoint.parent is None:
        return "There is no earlier one; start a new run."
    return f"Or fork the run from an earlier one, such as {checkpoint.parent}."


ADVICE: Final[Mapping[str, str]] = {
    "corrupted": (
        "Checkpoint {number} is not what was saved, by its digest. Nothing of it was"
        " used. Compare the row with a backup and find out who changed it. {earlier}"
    ),
    "newer": (
        "Checkpoint {number} has schema {version}, and this workflow reads {known}: a"
        " newer release saved it. It was left as it is. Install that release, or define"
        " the workflow with {version} in schema_versions. {earlier}"
    ),
    "no_step": (
        "Checkpoint {number} has schema {version}, and no upgrade leads from there to"
        " {known}. It was left as it is. Register the missing step, or keep {version} in"
        " the workflow's schema_versions. {earlier}"
    ),
    "step_failed": (
        "Checkpoint {number} has schema {version}, and an upgrade could not read it:"
        " {why}. It was left as it is. Mend the step and restore again. {earlier}"
    ),
}
