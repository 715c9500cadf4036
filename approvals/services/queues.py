"""Queues, and who may see, decide and edit there."""

from typing import Final
from uuid import UUID

from guardian.shortcuts import assign_perm, remove_perm

from approvals.models import Queue, QueueGroupPermission, QueueUserPermission
from audit.append import Actor
from kernel.problems import NOT_FOUND, Problem, declare
from kernel.update import update_exactly_one
from tenants.checks import Acting, permitted
from tenants.models import Group, Member
from tenants.services.change import NAME_TAKEN, change, own
from tenants.services.names import checked_name, checked_slug
from tenants.services.tenancy import REVIEWERS
from tenants.verbs import Verb

EVERYDAY: Final = ("view", "decide", "edit_arguments", "resolve")
"""What a reviewer has where nobody said otherwise; never more."""
RIGHTS: Final = (*EVERYDAY, "break_glass")
RIGHT_UNKNOWN: Final = declare(
    "right_unknown", status=422, title="Queues have no such right"
)


def create_queue(
    *,
    tenant_id: UUID,
    by: Acting,
    slug: str,
    name: str,
    default: bool = False,
    reviewers: UUID | None = None,
) -> Queue:
    """Open a queue; a default one takes the place of the former default.

    `reviewers` is a group that has everyday's rights there from the beginning. Raises
    `name_invalid` (422), `not_found` (404), and `name_taken` (409) within the tenant.
    """

    def work(verb: Verb) -> Queue:
        actor = permitted(tenant_id, by)
        if Queue.objects.filter(slug=slug).exists():
            raise NAME_TAKEN("Another queue has this address.", "/slug")
        queue = _create(verb, actor, slug=slug, name=name, default=default)
        if reviewers is not None:
            _open_to(verb, actor, queue, own(Group, tenant_id, reviewers))
        return queue

    return change(tenant_id, work)


def make_default(*, tenant_id: UUID, by: Acting, queue_id: UUID) -> Queue:
    """Send there what no policy routes. Raises `not_found` (404)."""

    def work(verb: Verb) -> Queue:
        actor = permitted(tenant_id, by)
        queue = own(Queue, tenant_id, queue_id)
        if not queue.default:
            Queue.objects.filter(default=True).update(default=False)
            update_exactly_one(Queue.objects.filter(id=queue_id), default=True)
            subject = ("queue", queue_id)
            verb.record("queue.made_default", actor=actor, subject=subject)
        queue.default = True
        return queue

    return change(tenant_id, work)


def _create(verb: Verb, actor: Actor, *, slug: str, name: str, default: bool) -> Queue:
    if default:
        Queue.objects.filter(default=True).update(default=False)
    queue = Queue.objects.create(
        tenant_id=verb.tenant_id,
        slug=_checked_slug(slug),
        name=checked_name(name),
        default=default,
    )
    verb.record(
        "queue.created", actor=actor, subject=("queue", queue.id), data={"slug": slug}
    )
    return queue


def _checked_slug(slug: str) -> str:
    try:
        return checked_slug(slug)
    except Problem as problem:
        raise Problem(problem.code, detail=problem.detail, pointer="/slug") from problem


def has_default_queue() -> bool:
    """Whether a request that no policy routes has somewhere to be seen."""
    return Queue.objects.filter(default=True).exists()


def open_default_queue(verb: Verb, actor: Actor) -> None:
    """A tenant's first request needs somewhere to be seen: by its reviewers.

    A step in a verb that has closed the gate.
    """
    if has_default_queue():
        return
    queue = _create(verb, actor, slug="requests", name="Requests", default=True)
    if reviewers := Group.objects.filter(name=REVIEWERS).first():
        _open_to(verb, actor, queue, reviewers)


def _open_to(verb: Verb, actor: Actor, queue: Queue, reviewers: Group) -> None:
    for right in EVERYDAY:
        _give(verb, actor, queue, right, reviewers)


def give_right(
    *,
    tenant_id: UUID,
    by: Acting,
    queue_id: UUID,
    right: str,
    group_id: UUID | None = None,
    member_id: UUID | None = None,
) -> None:
    """Let a group, or a single member, do something on a queue.

    Where they may already, nothing changes and nothing is recorded.
    """

    def work(verb: Verb) -> None:
        actor = permitted(tenant_id, by)
        holder = _holder(tenant_id, group_id, member_id)
        _give(verb, actor, own(Queue, tenant_id, queue_id), right, holder)

    change(tenant_id, work)


def take_right(
    *,
    tenant_id: UUID,
    by: Acting,
    queue_id: UUID,
    right: str,
    group_id: UUID | None = None,
    member_id: UUID | None = None,
) -> None:
    """Take it back. Approvals that rest on it no longer count when they are used."""

    def work(verb: Verb) -> None:
        actor = permitted(tenant_id, by)
        holder = _holder(tenant_id, group_id, member_id)
        queue = own(Queue, tenant_id, queue_id)
        if _holds(queue, _known(right), holder):
            remove_perm(right, _identity(holder), queue)
            _record(verb, actor, "queue.right_taken", queue, right, holder)

    change(tenant_id, work)


def _holder(
    tenant_id: UUID, group_id: UUID | None, member_id: UUID | None
) -> Group | Member:
    if group_id is not None:
        return own(Group, tenant_id, group_id)
    if member_id is not None:
        return own(Member, tenant_id, member_id)
    raise NOT_FOUND()


def _give(
    verb: Verb, actor: Actor, queue: Queue, right: str, holder: Group | Member
) -> None:
    if not _holds(queue, _known(right), holder):
        assign_perm(right, _identity(holder), queue)
        _record(verb, actor, "queue.right_given", queue, right, holder)


def _holds(queue: Queue, right: str, holder: Group | Member) -> bool:
    """By itself, whatever the groups hold that a member is in."""
    of = {"content_object": queue, "permission__codename": right}
    if isinstance(holder, Group):
        group = holder.django_group_id
        return QueueGroupPermission.objects.filter(**of, group_id=group).exists()
    return QueueUserPermission.objects.filter(**of, user_id=holder.user_id).exists()


def _known(right: str) -> str:
    if right not in RIGHTS:
        raise RIGHT_UNKNOWN(f"Rights are {', '.join(RIGHTS)}.", "/right")
    return right


def _identity(holder: Group | Member) -> object:
    """What guardian knows: Django's global user or the opaque global group."""
    return holder.django_group if isinstance(holder, Group) else holder.user


def _record(
    verb: Verb,
    actor: Actor,
    kind: str,
    queue: Queue,
    right: str,
    holder: Group | Member,
) -> None:
    of = "group" if isinstance(holder, Group) else "member"
    data = {"right": right, of: str(holder.id)}
    verb.record(kind, actor=actor, subject=("queue", queue.id), data=data)
