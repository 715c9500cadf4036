"""Putting drills on record: in the throw-away tenant, and in a real one that asks."""

from typing import Any
from uuid import UUID

from tenants.checks import Acting, permitted
from tenants.verbs import Gate, Verb, perform


def record_drill(
    tenant_id: UUID, *, by: Acting, kind: str, data: dict[str, Any]
) -> None:
    """Add an entry about a drill to the tenant's audit log: "held" or "reported".

    Raises what `permitted` raises, but not for a tenant that is stopped.
    """

    def work(verb: Verb) -> None:
        actor = permitted(tenant_id, by, while_stopped=True)
        verb.record(
            f"drill.{kind}", actor=actor, subject=("tenant", tenant_id), data=data
        )

    perform(tenant_id, work, gate=Gate.NONE)
