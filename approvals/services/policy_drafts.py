"""Writing a policy's next revision: kept as a draft, and published by an admin.

Where the tenant asks for a second admin, whoever wrote the draft does not publish it.
"""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db.models import F

from approvals.models import PolicyDraft, PolicyRevision
from approvals.services.policies import (
    DRAFT_CHANGED,
    OWN_DRAFT,
    POLICY_INVALID,
    add_revision,
    asks_for_second_admin,
    author_of,
    check_policy,
    check_usable,
    cosign,
    in_force,
    retire,
)
from audit.append import Actor
from kernel.canonical import definition_digest
from kernel.problems import NOT_FOUND
from kernel.update import update_exactly_one
from sessions.redaction import redacted_text
from tenants.checks import Acting, permitted
from tenants.services.change import change
from tenants.verbs import Verb

State = PolicyDraft.State
type Definition = Mapping[str, Any] | None
"""What a policy is to say; None: it is to be taken out of force."""


def draft_digest(definition: Definition) -> bytes:
    """Identifies what a draft says; no policy is an empty object."""
    return definition_digest(dict(definition or {}))


def standing(name: str) -> str:
    """What tells apart what a person may have read: the draft, and what is in force.

    A draft is compared with what is in force before it is published, so that another
    revision meanwhile is another comparison. Inside the scope.
    """
    draft = _open_draft(name)
    rows = PolicyRevision.objects.filter(policy__name=name, number=F("policy__current"))
    current = rows.values_list("digest", flat=True).first()
    drafted = draft_digest(draft.definition).hex() if draft else ""
    return f"{drafted}:{bytes(current).hex() if current else ''}"


def save_policy_draft(
    *,
    tenant_id: UUID,
    by: Acting,
    name: str,
    definition: Definition,
    note: str = "",
    seen: str | None = None,
) -> PolicyDraft:
    """Keep the policy's one open draft, which is validated as if it were published.

    `seen` is the `standing` that a person began with. Raises `policy.invalid`,
    `policy.selector_invalid` or `secret_in_arguments` (422) with the place,
    `policy.draft_changed` (409), and what `permitted` raises.
    """
    if definition is not None:
        check_policy(name, definition)
    if "\0" in note:
        raise POLICY_INVALID("A text may not hold the null character.", "/note")

    def work(verb: Verb) -> PolicyDraft:
        actor = permitted(tenant_id, by)
        _check(name, definition)
        _require_seen(name, seen)
        known = _open_draft(name)
        fields = {
            "definition": None if definition is None else dict(definition),
            "digest": draft_digest(definition),
            "note": redacted_text(note, tenant_id),
            "author_id": author_of(by),
        }
        draft = _write(tenant_id, name, known, fields)
        return _told(verb, draft, "policy.drafted", actor)

    return change(tenant_id, work)


def publish_policy_draft(
    *, tenant_id: UUID, by: Acting, name: str, seen: str | None = None
) -> PolicyRevision | None:
    """Put the draft in force, or take the policy out of it (None).

    Whoever publishes what somebody else wrote stands for it beside them. Raises
    `policy.own_draft` (403), and as `save_policy_draft` does.
    """

    def work(verb: Verb) -> PolicyRevision | None:
        actor = permitted(tenant_id, by)
        draft = _known(name, seen)
        _check_publishable(draft, by)
        revision = _publish(verb, actor, draft, by)
        _move(draft, State.PUBLISHED, revision=revision and revision.number)
        _told(verb, draft, "policy.draft_published", actor)
        return revision

    return change(tenant_id, work)


def withdraw_policy_draft(
    *, tenant_id: UUID, by: Acting, name: str, seen: str | None = None
) -> None:
    """Give the open draft up. It stays on record. Raises as `publish_policy_draft`."""

    def work(verb: Verb) -> None:
        actor = permitted(tenant_id, by)
        draft = _known(name, seen)
        _move(draft, State.WITHDRAWN)
        _told(verb, draft, "policy.draft_withdrawn", actor)

    change(tenant_id, work)


def _check(name: str, definition: Definition) -> None:
    """Against who and what there is now."""
    if definition is None:
        in_force(name)
        return
    check_usable(definition)


def _open_draft(name: str) -> PolicyDraft | None:
    """The gate is closed in every verb that writes one: nobody else does meanwhile."""
    return PolicyDraft.objects.filter(name=name, state=State.DRAFT).first()


def _known(name: str, seen: str | None) -> PolicyDraft:
    draft = _open_draft(name)
    if draft is None:
        raise NOT_FOUND("There is no draft of this policy.")
    _require_seen(name, seen)
    return draft


def _require_seen(name: str, seen: str | None) -> None:
    if seen is not None and seen != standing(name):
        raise DRAFT_CHANGED("Read what it says now, and then decide.")


def _write(
    tenant_id: UUID, name: str, known: PolicyDraft | None, fields: dict[str, Any]
) -> PolicyDraft:
    if known is None:
        return PolicyDraft.objects.create(tenant_id=tenant_id, name=name, **fields)
    update_exactly_one(PolicyDraft.objects.filter(id=known.id), **fields)
    known.definition = fields["definition"]
    return known


def _check_publishable(draft: PolicyDraft, by: Acting) -> None:
    if bytes(draft.digest) != draft_digest(draft.definition):
        raise DRAFT_CHANGED("It is not what was saved. Save it again.")
    alone = draft.author_id == author_of(by)
    if alone and asks_for_second_admin(draft.tenant_id):
        raise OWN_DRAFT("This tenant asks for a second admin.")
    if draft.definition is not None:
        check_policy(draft.name, draft.definition)
    _check(draft.name, draft.definition)


def _publish(
    verb: Verb, actor: Actor, draft: PolicyDraft, by: Acting
) -> PolicyRevision | None:
    if draft.definition is None:
        retire(verb, actor, draft.name)
        return None
    revision = add_revision(verb, actor, draft.name, draft.definition, draft.author_id)
    if isinstance(by, UUID) and draft.author_id not in {None, by}:
        cosign(verb, actor, revision, by)
    return revision


def _move(draft: PolicyDraft, to: str, **values: Any) -> None:
    rows = PolicyDraft.objects.filter(id=draft.id, state=draft.state)
    update_exactly_one(rows, state=to, **values)
    draft.state = to


def _told(verb: Verb, draft: PolicyDraft, kind: str, actor: Actor) -> PolicyDraft:
    data = {"name": draft.name, "digest": draft_digest(draft.definition).hex()}
    verb.record(kind, actor=actor, subject=("policy_draft", draft.id), data=data)
    return draft
