"""Which schema versions a run's checkpoints may have, and how older ones are read.

A run keeps the workflow that it began with. What its kind of work reads today is said by
the newest version of that workflow, so a run that was stopped for a year is restored by
an agent of today.
"""

from checkpoints.upgrades import Registry, Step, registry
from sessions.contract import Contract
from sessions.models import Run
from sessions.queries import current_workflow


def may_save(run: Run, version: int) -> bool:
    """Whether a checkpoint of this schema may be added: by today's agent, or the one
    that the run began with."""
    own = Contract.of(run.workflow)
    return own.understands(version) or todays(run).understands(version)


def may_restore(run: Run, version: int) -> bool:
    """Whether a checkpoint of this schema can be read, as it is or upgraded."""
    own = Contract.of(run.workflow)
    return own.understands(version) or way_to_read(run, version) is not None


def way_to_read(
    run: Run, version: int, steps: Registry = registry
) -> tuple[Step, ...] | None:
    """The steps from a schema to the one that is read today; none if it is that.

    What today's workflow neither lists nor is led to is read as it is, if the run began
    when it was listed. None if nobody knows it.
    """
    known = todays(run).schema_versions
    if known is None or version in known:
        return ()
    way = steps.way(run.workflow.kind, version, known)
    if way is None and Contract.of(run.workflow).understands(version):
        return ()
    return way


def todays(run: Run) -> Contract:
    """The newest contract of the run's kind of work."""
    newest = current_workflow(run.tenant_id, run.workflow.kind)
    return Contract.of(newest or run.workflow)
