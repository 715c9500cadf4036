"""Defining kinds of work. A workflow's version never changes; there is a next one."""

from typing import Any, Final
from uuid import UUID

from audit.append import Actor
from kernel.canonical import definition_digest
from kernel.problems import declare
from sessions.contract import check_definition
from sessions.models import Workflow
from sessions.queries import DEFAULT_KIND, current_workflow
from tenants.checks import Acting, permitted
from tenants.idempotency import Once
from tenants.verbs import Gate, Verb, perform

WORKFLOW_UNKNOWN: Final = declare(
    "workflow_unknown", status=422, title="This kind of work was never defined"
)


def define_workflow(
    *,
    tenant_id: UUID,
    by: Acting,
    kind: str,
    definition: dict[str, Any],
    once: Once | None = None,
) -> Workflow:
    """Give a kind of work its next version, for runs that start from now on.

    The same definition again changes nothing. Raises 422 `workflow_invalid` or
    `schema_invalid`, and what `permitted` raises.
    """
    check_definition(definition)

    def work(verb: Verb) -> Workflow:
        actor = permitted(tenant_id, by)
        return _next_version(verb, actor, kind, definition)

    return perform(tenant_id, work, gate=Gate.EXCLUSIVE, once=once)


def ensure_default_workflow(tenant_id: UUID) -> None:
    """Define the workflow that permits everything, if the tenant has none yet.

    A verb of its own, since defining closes the tenant's gate; and remembered, since
    a workflow once defined stays.
    """
    if tenant_id in _have_default:
        return

    def work(verb: Verb) -> None:
        if current_workflow(tenant_id, DEFAULT_KIND) is None:
            actor = Actor("system", tenant_id)
            _next_version(verb, actor, DEFAULT_KIND, {})

    perform(tenant_id, work, gate=Gate.EXCLUSIVE)
    _have_default.add(tenant_id)


_have_default: set[UUID] = set()


def _next_version(
    verb: Verb, actor: Actor, kind: str, definition: dict[str, Any]
) -> Workflow:
    current = current_workflow(verb.tenant_id, kind)
    digest = definition_digest(definition)
    if current and definition_digest(current.definition) == digest:
        return current
    workflow = Workflow.objects.create(
        tenant_id=verb.tenant_id,
        kind=kind,
        version=current.version + 1 if current else 1,
        definition=definition,
    )
    data = {"kind": kind, "version": workflow.version, "digest": digest.hex()}
    about = ("workflow", workflow.id)
    verb.record("workflow.defined", actor=actor, subject=about, data=data)
    return workflow
