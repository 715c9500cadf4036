"""Publishing policies: immutable revisions, one of them in force."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from django.db.models import F, Max

from approvals.access import eligible_people
from approvals.models import Policy, PolicyRevision, Queue
from approvals.policy import Rule
from approvals.policy.beforehand import MOST_USES
from approvals.policy.obligation import merge_rules
from approvals.policy.satisfy import Eligibility, missing
from approvals.policy.selector import check_selector
from audit.append import Actor
from kernel.canonical import definition_digest
from kernel.json_schema import check_value
from kernel.problems import NOT_FOUND, Problem, declare
from kernel.secrets import refuse_secret
from kernel.strict_json import canonical_value
from tenants.checks import Acting, permitted
from tenants.models import Tenant
from tenants.services.change import change
from tenants.verbs import Verb

POLICY_INVALID: Final = declare(
    "policy.invalid", status=422, title="This is not a policy that can be used"
)
OWN_SIGNATURE: Final = declare(
    "policy.own_signature", status=403, title="Its author cannot also cosign it"
)
OWN_DRAFT: Final = declare(
    "policy.own_draft", status=403, title="Another admin than its author publishes it"
)
DRAFT_CHANGED: Final = declare(
    "policy.draft_changed", status=409, title="It changed while you were reading"
)
NAME: Final = r"[-a-zA-Z0-9_]{1,100}"

_SECONDS: Final = {"type": "integer", "minimum": 1, "maximum": 366 * 24 * 60 * 60}
_UUID: Final = "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
_IDS: Final = {"type": "array", "items": {"type": "string", "pattern": _UUID}}
_RULE: Final = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "eligible": {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "permission": {"enum": ["decide"]},
                "groups": _IDS,
                "members": _IDS,
            },
        },
        "approvals": {"type": "integer", "minimum": 1, "maximum": 20},
        "denials": {"type": "integer", "minimum": 1, "maximum": 20},
    },
}
_STANDING: Final = {
    "type": "object",
    "additionalProperties": False,
    "required": ["expires_within", "uses"],
    "properties": {
        "expires_within": _SECONDS,
        "uses": {"type": "integer", "minimum": 1, "maximum": MOST_USES},
        "open": {
            "type": "array",
            "maxItems": 20,
            "items": {"type": "string", "pattern": "^(/[^/]+)+$", "maxLength": 200},
        },
    },
}
SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["verdict"],
    "properties": {
        "summary": {"type": "string", "maxLength": 300},
        "selector": {"type": "string"},
        "verdict": {"enum": ["deny", "require_review", "allow"]},
        "rules": {"type": "array", "maxItems": 10, "items": _RULE},
        "queue": {"type": "string", "maxLength": 63},
        "decide_within": _SECONDS,
        "use_within": _SECONDS,
        "wait": {**_SECONDS, "minimum": 0},
        "reason": {"enum": ["none", "on_reject", "always"]},
        "reauthentication": _SECONDS,
        "editor_counts": {"type": "boolean"},
        "break_glass": {"type": "boolean"},
        "standing": _STANDING,
    },
}


def publish_policy(
    *, tenant_id: UUID, by: Acting, name: str, definition: Mapping[str, Any]
) -> PolicyRevision:
    """Put a new revision in force, at once and for approvals not yet used.

    One step, and so one person's: where the tenant asks for a second admin, only a
    draft is the way, whoever it is. Raises `policy.invalid` or
    `policy.selector_invalid` (422) with the place, and `policy.own_draft` (403).
    """
    check_policy(name, definition)

    def work(verb: Verb) -> PolicyRevision:
        actor = permitted(tenant_id, by)
        _refuse_alone(tenant_id)
        check_usable(definition)
        return add_revision(verb, actor, name, dict(definition), author_of(by))

    return change(tenant_id, work)


def check_policy(name: str, definition: Mapping[str, Any]) -> None:
    """Whether it can be a policy at all, whoever there is. Raises as `publish_policy`."""
    if not re.fullmatch(NAME, name):
        raise POLICY_INVALID(
            "A name is one word, of letters, digits, - and _.", "/name"
        )
    try:
        canonical_value(dict(definition))
    except Problem as flaw:
        raise POLICY_INVALID(flaw.detail, flaw.pointer) from None
    check_value(SCHEMA, dict(definition), kind=POLICY_INVALID)
    _check_standing(definition)
    check_selector(definition.get("selector", "true"))


def _check_standing(definition: Mapping[str, Any]) -> None:
    """Refuse to permit beforehand what the same policy asks of people at the time."""
    if "standing" not in definition:
        return
    if definition["verdict"] != "require_review":
        raise POLICY_INVALID("Only where people must agree.", "/standing")
    if "reauthentication" in definition:
        raise POLICY_INVALID("It also asks for a fresh sign-in.", "/standing")
    rules = merge_rules(map(Rule.from_json, definition.get("rules", ())))
    if sum(rule.approvals for rule in rules) > 1:
        raise POLICY_INVALID("It also asks for several people.", "/standing")


def author_of(by: Acting) -> UUID | None:
    """The member who answers for it; nobody, where it is the installation's operator."""
    return by if isinstance(by, UUID) else None


def add_revision(
    verb: Verb,
    actor: Actor,
    name: str,
    definition: dict[str, Any],
    author: UUID | None,
) -> PolicyRevision:
    """The next revision of a policy, in force, inside a verb with its gate closed."""
    tenant_id = verb.tenant_id
    policy, _ = Policy.objects.get_or_create(tenant_id=tenant_id, name=name)
    of_policy = PolicyRevision.objects.filter(policy=policy)
    number = (of_policy.aggregate(last=Max("number"))["last"] or 0) + 1
    revision = PolicyRevision.objects.create(
        tenant_id=tenant_id,
        policy=policy,
        number=number,
        definition=definition,
        digest=definition_digest(definition),
        author_id=author,
    )
    Policy.objects.filter(id=policy.id).update(current=number)
    verb.record(
        "policy.published",
        actor=actor,
        subject=("policy", policy.id),
        data={
            "revision": number,
            "digest": revision.digest.hex(),
            "author": str(author) if author else None,
        },
    )
    return revision


def asks_for_second_admin(tenant_id: UUID) -> bool:
    """Whether a policy comes into force, or out of it, by two people only."""
    return Tenant.objects.filter(id=tenant_id, second_admin=True).exists()


def _refuse_alone(tenant_id: UUID) -> None:
    if asks_for_second_admin(tenant_id):
        raise OWN_DRAFT("Write a draft, and let another admin publish it.")


def cosign_policy(
    *, tenant_id: UUID, by: UUID, name: str, seen: str | None = None
) -> PolicyRevision:
    """Another administrator stands for the revision in force, beside its author.

    From then on its author is no longer on the side of what it lets through. `seen` is
    the digest (hex) of what a person was shown. Raises `not_found`,
    `policy.draft_changed` (409), and `policy.own_signature` (403) for its author.
    """

    def work(verb: Verb) -> PolicyRevision:
        actor = permitted(tenant_id, by)
        revision = in_force(name)
        if seen is not None and seen != bytes(revision.digest).hex():
            raise DRAFT_CHANGED("Read what is in force now, and then decide.")
        if revision.author_id == by:
            raise OWN_SIGNATURE()
        cosign(verb, actor, revision, by)
        return revision

    return change(tenant_id, work)


def cosign(verb: Verb, actor: Actor, revision: PolicyRevision, by: UUID) -> None:
    """Let a second person stand for a revision, inside a verb with its gate closed."""
    PolicyRevision.objects.filter(id=revision.id).update(cosigned_by_id=by)
    verb.record(
        "policy.cosigned",
        actor=actor,
        subject=("policy", revision.policy_id),
        data={"revision": revision.number},
    )


def in_force(name: str) -> PolicyRevision:
    """The revision of that policy which counts now. Raises `not_found`."""
    rows = PolicyRevision.objects.filter(policy__name=name, number=F("policy__current"))
    revision = rows.first()
    if revision is None:
        raise NOT_FOUND("No policy of this name is in force.")
    return revision


def check_usable(definition: Mapping[str, Any]) -> None:
    """Refuse what this tenant could not use as it is now. Inside the scope.

    Raises `secret_in_arguments` or `policy.invalid` (422) with the place.
    """
    refuse_secret(dict(definition), "")
    _check_satisfiable(definition)


def _check_satisfiable(definition: Mapping[str, Any]) -> None:
    """Refuse a rule that nobody, or too few, could ever satisfy.

    Several rules want distinct people: together they may ask for more than there are.
    """
    queue = _queue_of(definition)
    if queue is None:
        return
    rules = [Rule.from_json(one) for one in definition.get("rules", [])]
    able = {rule: eligible_people(rule.eligible, queue) for rule in rules}
    for place, rule in enumerate(rules):
        if len(able[rule]) < rule.approvals:
            raise POLICY_INVALID(
                f"It asks for {rule.approvals} people; {len(able[rule])} could answer.",
                f"/rules/{place}",
            )
    _check_together(merge_rules(rules), able)


def _check_together(rules: Sequence[Rule], able: Eligibility) -> None:
    """`rules` are merged, so that each is about other people, or asks for more."""
    people = {person for rule in able for person in able[rule]}
    by_kind = {rule.eligible: able[rule] for rule in able}
    eligible = {rule: by_kind[rule.eligible] for rule in rules}
    lacking = missing(rules, sorted(people), eligible)
    if lacking:
        needed = sum(rule.approvals for rule in rules)
        raise POLICY_INVALID(
            f"Together they ask for {needed} different people;"
            f" only {needed - lacking} could answer.",
            "/rules",
        )


def _queue_of(definition: Mapping[str, Any]) -> Queue | None:
    """Where its requests would go. Raises `policy.invalid` for an unknown queue."""
    slug = definition.get("queue")
    if slug is None:
        return Queue.objects.filter(default=True).first()
    queue = Queue.objects.filter(slug=slug).first()
    if queue is None:
        raise POLICY_INVALID("There is no such queue.", "/queue")
    return queue


def retire_policy(*, tenant_id: UUID, by: Acting, name: str) -> None:
    """Take a policy out of force. What it asked for stays pinned where it was asked.

    Raises `policy.own_draft` (403) as `publish_policy` does.
    """

    def work(verb: Verb) -> None:
        actor = permitted(tenant_id, by)
        _refuse_alone(tenant_id)
        retire(verb, actor, name)

    change(tenant_id, work)


def retire(verb: Verb, actor: Actor, name: str) -> None:
    """The same inside a verb with its gate closed. Raises `not_found`."""
    policy = in_force(name).policy
    Policy.objects.filter(id=policy.id).update(current=None)
    verb.record("policy.retired", actor=actor, subject=("policy", policy.id))
