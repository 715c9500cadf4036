"""Going on from a checkpoint that need not be the head: in another run, said explicitly."""

from dataclasses import dataclass
from uuid import UUID

from checkpoints.checkpoint import SCHEMA_UNSUPPORTED, Position, add_checkpoint
from checkpoints.checks import effects_settled
from checkpoints.effects import EFFECTS_OPEN
from checkpoints.models import Checkpoint, Fork, RestoreReport
from checkpoints.restoring import Restored, Unreadable, carry_out, report_on
from checkpoints.schemas import todays
from checkpoints.services.restores import Restoration, keep_report, planned
from kernel.outcome import Refused
from kernel.problems import Problem
from sessions.branches import add_branch
from sessions.models import Run
from sessions.queries import TRUNK, lock_own_session, own_run
from sessions.redaction import redacted_text
from sessions.runs import lock_run
from sessions.services.runs import LEASE_SECONDS, begin_run
from tenants.idempotency import Once
from tenants.principal import Principal
from tenants.verbs import Verb, perform


@dataclass(frozen=True, slots=True, kw_only=True)
class Forked:
    """The new run, its first checkpoint, and where it came from."""

    run: Run
    checkpoint: Checkpoint
    fork: Fork
    restoration: Restoration


def fork_run(
    *,
    who: Principal,
    run_id: UUID,
    number: int,
    reason: str = "",
    lease_seconds: int = LEASE_SECONDS,
    once: Once | None = None,
) -> Forked:
    """Open a run of the same session that begins where a checkpoint of this one is.

    It has the checkpoint's content, in today's schema, and nothing else: no fact, stage,
    request, decision or grant. Off the trunk it begins a branch of the source's. The
    source stays as it is. Raises `not_found` (404), and 409 `checkpoint_corrupted`,
    `schema_unsupported`, `too_many_branches`, `effects_open` while the outcome of one
    of the source's actions is not known.
    """

    found = carry_out(planned(who, run_id, number))

    def work(verb: Verb) -> Forked | Problem:
        source = _locked(who, run_id)
        report = report_on(source, found)
        keep_report(
            verb, source, found, report, door=RestoreReport.Door.FORK, actor=who.actor
        )
        if isinstance(found, Unreadable):
            return found.problem()
        _require_settled(source)
        _require_todays(source, found)
        run, checkpoint = _begin(verb, who, source, found, lease_seconds)
        said = redacted_text(reason, who.tenant_id)
        fork = _record(verb, who, source, run, found, said)
        restoration = Restoration(restored=found, report=report)
        return Forked(
            run=run, checkpoint=checkpoint, fork=fork, restoration=restoration
        )

    done = perform(who.tenant_id, work, once=once)
    if isinstance(done, Problem):
        raise done
    return done


def _require_todays(source: Run, found: Restored) -> None:
    """The new run begins under today's workflow, so that must read the content."""
    version = found.schema_version
    if not todays(source).understands(version):
        raise SCHEMA_UNSUPPORTED(
            f"Today's workflow does not read schema {version}: list it in"
            " schema_versions, or register the upgrade steps from it."
        )


def _locked(who: Principal, run_id: UUID) -> Run:
    """The source, under its session's lock and its own, in that order."""
    lock_own_session(who, own_run(who, run_id).session_id)
    return lock_run(run_id, agent_id=who.agent_id)


def _require_settled(source: Run) -> None:
    """Else the fork might do again what is being done."""
    settled = effects_settled(source)
    if isinstance(settled, Refused):
        raise EFFECTS_OPEN(settled.reason)


def _begin(
    verb: Verb, who: Principal, source: Run, found: Restored, lease_seconds: int
) -> tuple[Run, Checkpoint]:
    # Its kind of work is defined, so sharing the gate is enough to start another.
    run = begin_run(
        verb,
        source.session,
        who=who,
        workflow=source.workflow.kind,
        branch=_branch(verb, who, source),
        lease_seconds=lease_seconds,
    )
    position = Position(
        parent=None,
        schema_version=found.schema_version,
        payload=found.content.payload,
        header=found.content.header,
    )
    return run, add_checkpoint(verb, run, position, actor=who.actor)


def _branch(verb: Verb, who: Principal, source: Run) -> int | None:
    """One that goes on from the source's, if that is not the trunk."""
    if source.branch in {None, TRUNK}:
        return None
    branch = add_branch(
        verb, source.session, actor=who.actor, origin=source.branch, at=None
    )
    return branch.number


def _record(
    verb: Verb, who: Principal, source: Run, run: Run, found: Restored, reason: str
) -> Fork:
    fork = Fork.objects.create(
        tenant_id=run.tenant_id,
        run=run,
        source=source,
        checkpoint=found.checkpoint,
        number=found.checkpoint.number,
        reason=reason,
    )
    verb.record(
        "run.forked",
        actor=who.actor,
        subject=("run", run.id),
        data={
            "source": str(source.id),
            "number": found.checkpoint.number,
            "digest": bytes(found.checkpoint.digest).hex(),
        },
    )
    verb.changed(source.id, run.id)
    return fork
