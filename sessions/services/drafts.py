"""Writing a workflow's next version: drafted, validated, and published by an admin.

A version in force that says `second_admin` is followed only by one that somebody else
than its author publishes.
"""

import re
from typing import Any, Final
from uuid import UUID

from audit.append import Actor
from kernel.canonical import definition_digest
from kernel.problems import declare
from kernel.secrets import refuse_secret
from kernel.update import update_exactly_one
from sessions.contract import KIND, WORKFLOW_INVALID, check_definition
from sessions.models import Workflow, WorkflowDraft
from sessions.queries import found, locked, open_draft
from sessions.redaction import redacted_text
from sessions.services.workflows import OWN_DRAFT, add_version, needs_second_admin
from tenants.checks import permitted
from tenants.verbs import Gate, Verb, perform

NOT_VALIDATED: Final = declare(
    "workflow_not_validated", status=409, title="The draft was not validated as it is"
)
DRAFT_CHANGED: Final = declare(
    "workflow_draft_changed", status=409, title="It changed while you were reading"
)
State = WorkflowDraft.State


def save_draft(
    *,
    tenant_id: UUID,
    by: UUID,
    kind: str,
    definition: dict[str, Any],
    note: str = "",
    seen: str | None = None,
) -> WorkflowDraft:
    """Write the kind's one open draft; whatever was validated before is so no more.

    `seen` is the digest (hex) of the draft that this one was made from, empty if there
    was none; over another one nothing is written. Raises `workflow_draft_changed`
    (409), `workflow_invalid` (422) for a kind that is no name, `secret_in_arguments`
    (422) with the place of a credential, and what `permitted` raises.
    """
    if not re.fullmatch(KIND, kind):
        raise WORKFLOW_INVALID("A kind is one word, of letters, digits, - and _.")
    if "\0" in note:
        raise WORKFLOW_INVALID("A text may not hold the null character.", "/note")

    def work(verb: Verb) -> WorkflowDraft:
        actor = permitted(tenant_id, by)
        refuse_secret(definition, "/definition")
        _require_seen(open_draft(kind), seen)
        fields = {
            "definition": definition,
            "note": redacted_text(note, tenant_id),
            "author_id": by,
            "state": State.DRAFT,
            "digest": None,
        }
        draft = _write(tenant_id, kind, fields)
        data = {"kind": kind, "digest": definition_digest(definition).hex()}
        return _told(verb, draft, "workflow.drafted", actor, data)

    return perform(tenant_id, work, gate=Gate.EXCLUSIVE)


def validate_draft(
    *, tenant_id: UUID, by: UUID, kind: str, seen: str | None = None
) -> WorkflowDraft:
    """Find out whether the draft can be used. Raises 422 with the place where not.

    `seen` is the digest (hex) of the definition that a person was shown; with another
    one nothing is done. Raises `workflow_draft_changed` (409).
    """

    def work(verb: Verb) -> WorkflowDraft:
        actor = permitted(tenant_id, by)
        draft = _open(kind, seen)
        check_definition(draft.definition)
        digest = definition_digest(draft.definition)
        _move(draft, State.VALIDATED, digest=digest)
        data = {"kind": kind, "digest": digest.hex()}
        return _told(verb, draft, "workflow.validated", actor, data)

    return perform(tenant_id, work, gate=Gate.EXCLUSIVE)


def publish_draft(
    *, tenant_id: UUID, by: UUID, kind: str, seen: str | None = None
) -> Workflow:
    """Make the validated draft the kind's version for runs that start from now on.

    Raises `workflow_not_validated` (409), `workflow_own_draft` (403), and
    `workflow_draft_changed` (409) as `validate_draft` does.
    """

    def work(verb: Verb) -> Workflow:
        actor = permitted(tenant_id, by)
        draft = _open(kind, seen)
        _check_publishable(draft, by)
        workflow = add_version(verb, actor, kind, draft.definition)
        _move(draft, State.PUBLISHED, version=workflow.version)
        data = {"kind": kind, "version": workflow.version}
        _told(verb, draft, "workflow.published", actor, data)
        return workflow

    return perform(tenant_id, work, gate=Gate.EXCLUSIVE)


def withdraw_draft(
    *, tenant_id: UUID, by: UUID, kind: str, seen: str | None = None
) -> None:
    """Give the open draft up. It stays on record. Raises as `validate_draft` does."""

    def work(verb: Verb) -> None:
        actor = permitted(tenant_id, by)
        draft = _open(kind, seen)
        _move(draft, State.WITHDRAWN)
        _told(verb, draft, "workflow.withdrawn", actor, {"kind": kind})

    perform(tenant_id, work, gate=Gate.EXCLUSIVE)


def _write(tenant_id: UUID, kind: str, fields: dict[str, Any]) -> WorkflowDraft:
    known = open_draft(kind)
    if known is None:
        return WorkflowDraft.objects.create(tenant_id=tenant_id, kind=kind, **fields)
    update_exactly_one(WorkflowDraft.objects.filter(id=known.id), **fields)
    known.definition = fields["definition"]
    return known


def _open(kind: str, seen: str | None) -> WorkflowDraft:
    rows = locked(WorkflowDraft).filter(kind=kind)
    draft = found(rows.filter(state__in=[State.DRAFT, State.VALIDATED]))
    _require_seen(draft, seen)
    return draft


def draft_seen(draft: WorkflowDraft | None) -> str:
    """What tells one draft from another: its digest (hex), empty where there is none."""
    return definition_digest(draft.definition).hex() if draft else ""


def _require_seen(draft: WorkflowDraft | None, seen: str | None) -> None:
    if seen is not None and seen != draft_seen(draft):
        raise DRAFT_CHANGED("Read what the draft says now, and then decide.")


def _check_publishable(draft: WorkflowDraft, by: UUID) -> None:
    digest = bytes(draft.digest) if draft.digest is not None else None
    if draft.state != State.VALIDATED or digest != definition_digest(draft.definition):
        raise NOT_VALIDATED("Validate it first.")
    alone = draft.author_id == by
    if alone and needs_second_admin(draft.tenant_id, draft.kind):
        raise OWN_DRAFT("The version in force asks for a second admin.")


def _move(draft: WorkflowDraft, to: str, **values: Any) -> None:
    rows = WorkflowDraft.objects.filter(id=draft.id, state=draft.state)
    update_exactly_one(rows, state=to, **values)
    draft.state = to


def _told(
    verb: Verb, draft: WorkflowDraft, kind: str, actor: Actor, data: dict[str, Any]
) -> WorkflowDraft:
    verb.record(kind, actor=actor, subject=("workflow_draft", draft.id), data=data)
    return draft
