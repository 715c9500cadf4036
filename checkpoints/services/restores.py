"""Reading a checkpoint in order to go on from it: each time on record, found or refused."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from audit.append import Actor
from checkpoints.models import Checkpoint, RestoreReport
from checkpoints.queries import checkpoint_of
from checkpoints.restoring import (
    Found,
    Plan,
    Restored,
    Unreadable,
    carry_out,
    plan_for,
    report_on,
    stored_report,
)
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from sessions.models import Run
from sessions.queries import own_run
from sessions.runs import lock_run, move_run
from tenants.idempotency import Once
from tenants.principal import Principal
from tenants.verbs import Verb, perform

Door = RestoreReport.Door
State = Run.State


@dataclass(frozen=True, slots=True, kw_only=True)
class Restoration:
    """What an agent goes on with: `restored`, and the `report` about it.

    Of the report see `checkpoints.restoring.report_on`.
    """

    restored: Restored
    report: dict[str, Any]

    @property
    def checkpoint(self) -> Checkpoint:
        """As it is stored."""
        return self.restored.checkpoint


def restore_checkpoint(
    *, who: Principal, run_id: UUID, number: int | None = None, once: Once | None = None
) -> Restoration:
    """A checkpoint of the agent's run, or its head, in today's schema, with a report.

    On record, once for each fence of the run. Raises `not_found` (404);
    `checkpoint_corrupted` or `schema_unsupported` (409), and then a running run needs
    attention, with the stored bytes left as they are; `data_erased` (410).
    """
    found = carry_out(planned(who, run_id, number))

    def work(verb: Verb) -> Restoration | Problem:
        run = lock_run(run_id, agent_id=who.agent_id)
        return _settle(verb, run, found, who.actor)

    done = perform(who.tenant_id, work, once=once)
    if isinstance(done, Problem):
        raise done
    return done


def read_checkpoint(
    *, who: Principal, run_id: UUID, number: int | None = None
) -> Checkpoint:
    """A checkpoint of the agent's run, or its head, exactly as it was saved.

    Raises what `restore_checkpoint` raises, with the same consequences.
    """
    plan = planned(who, run_id, number)
    if isinstance(plan, Plan):
        return plan.checkpoint
    # It is asked again for the record; by then somebody may have mended the row.
    return restore_checkpoint(who=who, run_id=run_id, number=number).checkpoint


def planned(who: Principal, run_id: UUID, number: int | None) -> Plan | Unreadable:
    """How a checkpoint of the agent's run is read. Raises `not_found` (404)."""
    with tenant_transaction(who.tenant_id):
        run = own_run(who, run_id)
        return plan_for(run, checkpoint_of(run, number))


def keep_report(
    verb: Verb,
    run: Run,
    found: Found,
    report: dict[str, Any],
    *,
    door: str,
    actor: Actor,
) -> None:
    """Put a restore, or a failed one, of a locked run on record, once for each fence."""
    if _is_kept(run, found, door):
        return
    verb.changed(run.id)
    RestoreReport.objects.create(
        report=stored_report(report), **_terms(run, found, door)
    )
    for kind in _kinds(found):
        verb.record(
            f"checkpoint.{kind}",
            actor=actor,
            subject=("checkpoint", found.checkpoint.id),
            data={
                "run": str(run.id),
                "number": found.checkpoint.number,
                "door": door,
                "fence": run.fence,
                "digest": report["digest"],
                "code": report["code"],
                "reason": report["reason"],
                "schema": report["schema"],
            },
        )


def _settle(verb: Verb, run: Run, found: Found, actor: Actor) -> Restoration | Problem:
    """Record what was found, and keep the run from going on with what is unreadable."""
    report = report_on(run, found)
    keep_report(verb, run, found, report, door=Door.READ, actor=actor)
    if isinstance(found, Restored):
        return Restoration(restored=found, report=report)
    if run.state == State.RUNNING:
        why = f"{report['code']}: {report['advice']}"
        move_run(verb, run, State.NEEDS_ATTENTION, actor=actor, reason=why)
    return found.problem()


def _is_kept(run: Run, found: Found, door: str) -> bool:
    return RestoreReport.objects.filter(**_terms(run, found, door)).exists()


def _terms(run: Run, found: Found, door: str) -> dict[str, Any]:
    """What tells one report from another."""
    return {
        "tenant_id": run.tenant_id,
        "run_id": run.id,
        "number": found.checkpoint.number,
        "door": door,
        "fence": run.fence,
        "code": found.code,
        "found": found.checkpoint.schema_version,
        "returned": found.schema_version,
    }


def _kinds(found: Found) -> list[str]:
    if isinstance(found, Unreadable):
        return ["refused"]
    return ["restored", "upgraded"] if found.steps else ["restored"]
