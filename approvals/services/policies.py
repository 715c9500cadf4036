"""Publishing policies: immutable revisions, one of them in force."""

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from django.db.models import F, Max

from approvals.access import eligible_people
from approvals.models import Policy, PolicyRevision, Queue
from approvals.policy import Rule
from approvals.policy.selector import check_selector
from kernel.canonical import definition_digest
from kernel.json_schema import check_value
from kernel.problems import NOT_FOUND, declare
from tenants.checks import Acting, permitted
from tenants.services.change import change
from tenants.verbs import Verb

POLICY_INVALID: Final = declare(
    "policy.invalid", status=422, title="This is not a policy that can be used"
)
OWN_SIGNATURE: Final = declare(
    "policy.own_signature", status=403, title="Its author cannot also cosign it"
)

_SECONDS: Final = {"type": "integer", "minimum": 1, "maximum": 366 * 24 * 60 * 60}
_IDS: Final = {"type": "array", "items": {"type": "string", "format": "uuid"}}
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
    },
}


def publish_policy(
    *, tenant_id: UUID, by: Acting, name: str, definition: Mapping[str, Any]
) -> PolicyRevision:
    """Put a new revision in force, at once and for approvals not yet used.

    Raises `policy.invalid` or `policy.selector_invalid` (422), with the place.
    """
    check_value(SCHEMA, dict(definition), kind=POLICY_INVALID)
    check_selector(definition.get("selector", "true"))

    def work(verb: Verb) -> PolicyRevision:
        actor = permitted(tenant_id, by)
        author = by if isinstance(by, UUID) else None
        _check_satisfiable(definition, _queue_of(definition))
        revision = _add(tenant_id, name, dict(definition), author)
        verb.record(
            "policy.published",
            actor=actor,
            subject=("policy", revision.policy_id),
            data={"revision": revision.number, "digest": revision.digest.hex()},
        )
        return revision

    return change(tenant_id, work)


def _add(
    tenant_id: UUID, name: str, definition: dict[str, Any], author: UUID | None
) -> PolicyRevision:
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
    return revision


def cosign_policy(*, tenant_id: UUID, by: UUID, name: str) -> PolicyRevision:
    """Another administrator stands for the revision in force, beside its author.

    From then on its author is no longer on the side of what it lets through. Raises
    `not_found`, and `policy.own_signature` (403) for its author.
    """

    def work(verb: Verb) -> PolicyRevision:
        actor = permitted(tenant_id, by)
        revision = _in_force(tenant_id, name)
        if revision.author_id == by:
            raise OWN_SIGNATURE()
        PolicyRevision.objects.filter(id=revision.id).update(cosigned_by_id=by)
        verb.record(
            "policy.cosigned",
            actor=actor,
            subject=("policy", revision.policy_id),
            data={"revision": revision.number},
        )
        return revision

    return change(tenant_id, work)


def _in_force(tenant_id: UUID, name: str) -> PolicyRevision:
    rows = PolicyRevision.objects.filter(
        tenant_id=tenant_id, policy__name=name, number=F("policy__current")
    )
    revision = rows.first()
    if revision is None:
        raise NOT_FOUND("No policy of this name is in force.")
    return revision


def _check_satisfiable(definition: Mapping[str, Any], queue: Queue | None) -> None:
    """Refuse a rule that nobody, or too few, could ever satisfy."""
    for place, rule in enumerate(map(Rule.from_json, definition.get("rules", []))):
        people = eligible_people(rule.eligible, queue) if queue else None
        if people is not None and len(people) < rule.approvals:
            raise POLICY_INVALID(
                f"It asks for {rule.approvals} people; {len(people)} could answer.",
                f"/rules/{place}",
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
    """Take a policy out of force. What it asked for stays pinned where it was asked."""

    def work(verb: Verb) -> None:
        actor = permitted(tenant_id, by)
        policy = _in_force(tenant_id, name).policy
        Policy.objects.filter(id=policy.id).update(current=None)
        verb.record("policy.retired", actor=actor, subject=("policy", policy.id))

    change(tenant_id, work)
