"""Defining kinds of work. A workflow's version never changes; there is a next one."""

from typing import Any, Final
from uuid import UUID

from audit.append import Actor
from kernel.canonical import definition_digest
from kernel.problems import declare
from kernel.scope import tenant_transaction
from kernel.secrets import refuse_secret
from sessions.contract import check_definition
from sessions.models import Workflow
from sessions.queries import DEFAULT_KIND, current_workflow
from tenants.checks import Acting, permitted
from tenants.idempotency import Once
from tenants.verbs import Gate, Verb, perform

WORKFLOW_UNKNOWN: Final = declare(
    "workflow_unknown", status=422, title="This kind of work was never defined"
)
OWN_DRAFT: Final = declare(
    "workflow_own_draft", status=403, title="Another admin than its author publishes it"
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

    One step, and so one person's: where the version in force says `second_admin`, only
    a draft is the way, whoever it is. The same definition again changes nothing. Raises
    422 `workflow_invalid` or `schema_invalid`, `secret_in_arguments`,
    `workflow_own_draft` (403), and what `permitted` raises.
    """
    check_definition(definition)

    def work(verb: Verb) -> Workflow:
        actor = permitted(tenant_id, by)
        refuse_secret(definition, "/definition")
        current = current_workflow(tenant_id, kind)
        workflow = add_version(verb, actor, kind, definition)
        if current and workflow.id != current.id and _asks_for_two(current):
            raise OWN_DRAFT("Write a draft, and let another admin publish it.")
        return workflow

    return perform(tenant_id, work, gate=Gate.EXCLUSIVE, once=once)


def needs_second_admin(tenant_id: UUID, kind: str) -> bool:
    """Whether the kind's next version takes two people."""
    current = current_workflow(tenant_id, kind)
    return current is not None and _asks_for_two(current)


def _asks_for_two(workflow: Workflow) -> bool:
    return bool(workflow.definition.get("second_admin"))


def gate_to_start(tenant_id: UUID, kind: str = DEFAULT_KIND) -> Gate:
    """What a verb that calls `workflow_to_start` needs: defining one closes the gate.

    Remembered, since a workflow once defined stays.
    """
    if kind != DEFAULT_KIND or tenant_id in _have_default:
        return Gate.SHARED
    with tenant_transaction(tenant_id):
        if current_workflow(tenant_id, DEFAULT_KIND) is None:
            return Gate.EXCLUSIVE
    _have_default.add(tenant_id)
    return Gate.SHARED


_have_default: set[UUID] = set()


def workflow_to_start(verb: Verb, kind: str) -> Workflow:
    """The newest version of a kind of work, inside a verb.

    The default kind, which permits everything, is defined by being asked for. Raises
    `workflow_unknown` (422) for any other.
    """
    known = current_workflow(verb.tenant_id, kind)
    if known is not None:
        return known
    if kind != DEFAULT_KIND:
        raise WORKFLOW_UNKNOWN(None, "/workflow")
    return add_version(verb, Actor("system", verb.tenant_id), kind, {})


def add_version(
    verb: Verb, actor: Actor, kind: str, definition: dict[str, Any]
) -> Workflow:
    """The next version of a kind, inside a verb with its gate closed."""
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
