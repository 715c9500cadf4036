"""Entering by a tenant's provider: who an external identity is here, and nowhere else."""

from dataclasses import dataclass
from hashlib import sha256
from typing import Final
from uuid import UUID

from django.contrib.auth.hashers import make_password
from django.db.models import QuerySet

from audit.append import Actor
from kernel.clock import ClockTimestamp
from kernel.ids import new_id
from kernel.problems import NOT_FOUND, declare
from kernel.update import update_exactly_one
from tenants.checks import Acting, permitted, permitted_role
from tenants.models import (
    ExternalIdentity,
    Group,
    GroupMapping,
    JoinLink,
    Member,
    Role,
    SingleSignOn,
    User,
)
from tenants.queries import NO_ADDRESS, active_member, is_known_here
from tenants.services.admission import require_maker, require_running
from tenants.services.change import change, own
from tenants.services.groups import join_group, leave_group
from tenants.services.join_links import LINK_DEAD, use_link
from tenants.services.people import admit
from tenants.services.public_issuers import is_public
from tenants.services.sessions import end_sessions_by
from tenants.verbs import Verb

NOT_INVITED: Final = declare(
    "sso.not_invited",
    status=403,
    title="The provider knows you, and this tenant does not",
)
ACCOUNT_EXISTS: Final = declare(
    "sso.account_exists",
    status=409,
    title="Somebody with this e-mail address is a member already",
)
DISCONNECTED: Final = declare(
    "sso.disconnected", status=403, title="You were disconnected from this tenant"
)
MEMBER_ENDED: Final = declare(
    "sso.member_ended", status=403, title="Your membership has ended"
)

SYSTEM: Final = Actor("system", "single-sign-on")


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a provider said, once it is certain that it did."""

    issuer: str
    subject: str
    name: str = ""
    email: str = ""
    groups: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Entered:
    """Who it is, and by which identity."""

    user: User
    identity_id: UUID


def enter(
    *, tenant_id: UUID, told: Told, link: str = "", admit_new: bool = True
) -> Entered:
    """Find the member that an identity is, or make them; give and take mapped groups.

    Whoever only proves who they are is nobody new: then not `admit_new`.
    Raises `not_found` where the provider is not the tenant's any more, `sso.not_invited`,
    `sso.disconnected` and `sso.member_ended` (403), `sso.account_exists` and
    `tenant_stopped` (409), `sso.link_dead` (410).
    """

    def work(verb: Verb) -> Entered:
        config = _config(tenant_id, told)
        identity = _known(tenant_id, told)
        if identity is None:
            if not admit_new:
                raise NOT_INVITED("Sign in before you prove who you are.")
            identity = _let_in(verb, config, told, link)
        member = active_member(tenant_id, identity.member_id)
        if member is None:
            raise MEMBER_ENDED("Ask those who administer the tenant.")
        ExternalIdentity.objects.filter(id=identity.id).exclude(
            email=told.email
        ).update(email=told.email)
        _move_groups(verb, member, told.groups)
        return Entered(user=member.user, identity_id=identity.id)

    return change(tenant_id, work)


def connect(*, tenant_id: UUID, member_id: UUID, told: Told) -> None:
    """Let a member enter by this identity, who proved by other means who they are.

    Raises `already_so` (409) if it is somebody's, or they have another one.
    """

    def work(verb: Verb) -> None:
        _config(tenant_id, told)
        member = active_member(tenant_id, member_id)
        if member is None:
            raise NOT_FOUND()
        _identify(verb, Actor("member", member_id), member.id, told)

    change(tenant_id, work)


def disconnect(
    *, tenant_id: UUID, by: Acting, member_id: UUID, identity_id: UUID
) -> None:
    """Let a member enter by this identity no more, and end what began with it.

    The row stays and says so: else it would be somebody new at the next sign-in.
    """

    def work(verb: Verb) -> None:
        permitted(tenant_id, by)
        identity = own(ExternalIdentity, tenant_id, identity_id)
        member = own(Member, tenant_id, member_id)
        if identity.member_id != member.id or identity.ended_at is not None:
            raise NOT_FOUND()
        actor = permitted_role(tenant_id, by, Role(member.role))
        living = ExternalIdentity.objects.filter(id=identity_id, ended_at=None)
        update_exactly_one(living, ended_at=ClockTimestamp())
        _record(verb, "member.identity_removed", actor, member.id, identity)
        verb.after_commit(lambda: end_sessions_by([identity_id]))

    change(tenant_id, work)


def _config(tenant_id: UUID, told: Told) -> SingleSignOn:
    config = SingleSignOn.objects.filter(
        tenant_id=tenant_id, issuer=told.issuer
    ).first()
    if config is None:
        raise NOT_FOUND()
    return config


def _of(tenant_id: UUID, told: Told) -> QuerySet[ExternalIdentity]:
    return ExternalIdentity.objects.filter(
        tenant_id=tenant_id, issuer=told.issuer, subject=told.subject
    )


def _known(tenant_id: UUID, told: Told) -> ExternalIdentity | None:
    return _of(tenant_id, told).filter(ended_at=None).first()


def _let_in(
    verb: Verb, config: SingleSignOn, told: Told, link: str
) -> ExternalIdentity:
    """Make the identity a member: by a link, or where all are let in.

    Whom somebody disconnected is not new, and comes back on purpose alone.
    """
    require_running(verb.tenant_id)
    former = _of(verb.tenant_id, told).order_by("-ended_at").first()
    if not link and former is not None:
        raise DISCONNECTED("Ask those who administer the tenant for a link.")
    if not link and not _admits(config):
        raise NOT_INVITED("Ask those who administer the tenant for a link.")
    row = use_link(verb.tenant_id, link) if link else None
    if former is not None and row is not None:
        return _take_up(verb, former, row, told)
    return _admit(verb, config, told, row)


def _admits(config: SingleSignOn) -> bool:
    """Also where it was set up before it was known that anybody has an account there."""
    return config.admits and not is_public(config.issuer)


def _admit(
    verb: Verb, config: SingleSignOn, told: Told, row: JoinLink | None
) -> ExternalIdentity:
    if is_known_here(verb.tenant_id, told.email):
        raise ACCOUNT_EXISTS("Sign in as you did so far, and connect the two.")
    role = Role(row.role if row else config.role)
    name = row.name if row else told.name
    user = _newcomer(name)
    member = admit(verb, actor=SYSTEM, user=user, role=role, name=name)
    return _identify(verb, SYSTEM, member.id, told)


def _take_up(
    verb: Verb, former: ExternalIdentity, row: JoinLink, told: Told
) -> ExternalIdentity:
    """The member whom it led to before, and none else: by a link of who may touch them."""
    role = Role(former.member.role)
    require_maker(verb.tenant_id, row.created_by_id, role, LINK_DEAD)
    return _identify(verb, SYSTEM, former.member_id, told)


def _newcomer(name: str) -> User:
    user_id = new_id()
    return User.objects.create(
        id=user_id,
        email=f"{user_id.hex}@{NO_ADDRESS}",
        name=name,
        password=make_password(None),
    )


def _identify(
    verb: Verb, actor: Actor, member_id: UUID, told: Told
) -> ExternalIdentity:
    """From now on it leads to this member; the row that once did is taken up again."""
    rows = _of(verb.tenant_id, told).filter(member_id=member_id)
    identity = rows.exclude(ended_at=None).first()
    if identity is not None:
        update_exactly_one(rows.filter(id=identity.id), ended_at=None)
    else:
        identity = ExternalIdentity.objects.create(
            tenant_id=verb.tenant_id,
            issuer=told.issuer,
            subject=told.subject,
            member_id=member_id,
            email=told.email,
        )
    _record(verb, "member.identity_added", actor, member_id, identity)
    return identity


def _move_groups(verb: Verb, member: Member, told: frozenset[str]) -> None:
    """Of the groups that are mapped, exactly those that were told; others stay."""
    wanted: dict[UUID, bool] = {}
    for row in GroupMapping.objects.filter(tenant_id=verb.tenant_id):
        wanted[row.group_id] = wanted.get(row.group_id, False) or row.value in told
    held = set(
        User.groups.through.objects.filter(user_id=member.user_id).values_list(
            "group_id", flat=True
        )
    )
    for group in Group.objects.filter(tenant_id=verb.tenant_id, id__in=wanted):
        is_in = group.django_group_id in held
        if wanted[group.id] and not is_in:
            join_group(verb, actor=SYSTEM, group=group, member_id=member.id)
        elif is_in and not wanted[group.id]:
            leave_group(verb, actor=SYSTEM, group=group, member_id=member.id)


def _record(
    verb: Verb, kind: str, actor: Actor, member_id: UUID, identity: ExternalIdentity
) -> None:
    # The subject is a digest: who may read the log need not learn an id elsewhere.
    data = {
        "issuer": identity.issuer,
        "subject_sha256": sha256(identity.subject.encode()).hexdigest(),
    }
    verb.record(kind, actor=actor, subject=("member", member_id), data=data)
