"""What restoring every run's head would come to, without restoring any.

Each run is read in a transaction that PostgreSQL itself lets write nothing.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

from checkpoints.queries import checkpoint_of, restorable_runs
from checkpoints.restoring import Found, Restored, carry_out, plan_for
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from sessions.models import Run

type Progress = Callable[[int, int], None]
"""Told (done, total)."""


class Verdict(StrEnum):
    """What restoring would come to."""

    AS_IS = "as_is"
    UPGRADE = "upgrade"
    REFUSE = "refuse"
    QUARANTINE = "quarantine"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One run. `returned` is the schema that it would be read as, None for none."""

    run: str
    state: str
    checkpoint: int
    verdict: Verdict
    found: int | None = None
    returned: int | None = None
    steps: tuple[str, ...] = ()
    code: str = ""
    reason: str = ""
    advice: str = ""

    @property
    def is_refused(self) -> bool:
        """Whether a person or a release has to do something first."""
        return self.verdict in {Verdict.REFUSE, Verdict.QUARANTINE}

    def document(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)


def rehearse(tenant_id: UUID, *, ended: bool, progress: Progress) -> Iterator[Line]:
    """The tenant's runs that have a head, oldest first; those that ended if wanted."""
    with tenant_transaction(tenant_id, snapshot=True):
        runs = list(
            restorable_runs(tenant_id, ended=ended).values_list("id", flat=True)
        )
    for done, run_id in enumerate(runs, start=1):
        yield _line(tenant_id, run_id)
        progress(done, len(runs))


def _line(tenant_id: UUID, run_id: UUID) -> Line:
    with tenant_transaction(tenant_id, snapshot=True):
        run = Run.objects.select_related("workflow").get(id=run_id)
        try:
            plan = plan_for(run, checkpoint_of(run))
        except Problem as problem:  # there is no such row, or nothing in it any more
            return _missing(run, problem)
    found = carry_out(plan)
    readable = isinstance(found, Restored)
    return Line(
        run=str(run.id),
        state=run.state,
        checkpoint=found.checkpoint.number,
        verdict=_verdict(found),
        found=found.checkpoint.schema_version,
        returned=found.schema_version if readable else None,
        steps=tuple(one.step.name for one in found.steps),
        code=found.code,
        reason=found.reason,
        advice="" if isinstance(found, Restored) else found.advice,
    )


def _missing(run: Run, problem: Problem) -> Line:
    return Line(
        run=str(run.id),
        state=run.state,
        checkpoint=run.head_number or 0,
        verdict=Verdict.QUARANTINE,
        code=problem.code,
        reason="missing",
        advice=problem.detail,
    )


def _verdict(found: Found) -> Verdict:
    if isinstance(found, Restored):
        return Verdict.UPGRADE if found.steps else Verdict.AS_IS
    return Verdict.QUARANTINE if found.reason == "corrupted" else Verdict.REFUSE
