"""Entering by a tenant's provider: who an external identity is here, and nowhere else."""

import secrets
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from typing import Final
from uuid import UUID

from django.contrib.auth.hashers import make_password
from django.db.models import Q

from audit.append import Actor
from kernel.clock import ClockTimestamp, database_now
from kernel.ids import new_id
from kernel.problems import NOT_FOUND, declare
from tenants.checks import Acting, Operator, permitted, permitted_role
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
from tenants.queries import NO_ADDRESS, active_member
from tenants.services.change import change, own
from tenants.services.groups import join_group, leave_group
from tenants.services.names import checked_name
from tenants.services.people import admit
from tenants.services.sessions import end_sessions_by
from tenants.services.single_sign_on import ROLES, SETTINGS_REFUSED
from tenants.verbs import Verb

LINK_DAYS: Final = 7

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
LINK_DEAD: Final = declare(
    "sso.link_dead", status=410, title="This link was used, or its time is over"
)
MEMBER_ENDED: Final = declare(
    "sso.member_ended", status=403, title="Your membership has ended"
)

PROVIDER: Final = "single-sign-on"


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
    Raises `not_found` where the provider is not the tenant's any more, `sso.not_invited`
    and `sso.member_ended` (403), `sso.account_exists` (409), `sso.link_dead` (410).
    """

    def work(verb: Verb) -> Entered:
        config = _config(tenant_id, told)
        identity = _known(tenant_id, told)
        if identity is None:
            if not admit_new:
                raise NOT_INVITED("Sign in before you prove who you are.")
            identity = _admit(verb, config, told, link)
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
    """Let a member enter by this identity no more, and end what began with it."""

    def work(verb: Verb) -> None:
        permitted(tenant_id, by)
        identity = own(ExternalIdentity, tenant_id, identity_id)
        member = own(Member, tenant_id, member_id)
        if identity.member_id != member.id:
            raise NOT_FOUND()
        actor = permitted_role(tenant_id, by, Role(member.role))
        identity.delete()
        _record(verb, "member.identity_removed", actor, member.id, identity)
        verb.after_commit(lambda: end_sessions_by([identity_id]))

    change(tenant_id, work)


def make_join_link(*, tenant_id: UUID, by: Acting, name: str, role: Role) -> str:
    """A secret for one new member, to be shown once; it lives for a week.

    It makes a member and connects nobody who is one, so whoever makes it becomes nobody
    else with it. Raises `sso.settings_refused` and `name_invalid` (422).
    """
    text = secrets.token_urlsafe(32)

    def work(verb: Verb) -> str:
        actor = permitted_role(tenant_id, by, role)
        if role not in ROLES:
            raise SETTINGS_REFUSED("Give them this role once they are here.", "/role")
        row = JoinLink.objects.create(
            tenant_id=tenant_id,
            digest=_digest(text),
            name=checked_name(name, most=200),
            role=role,
            created_by_id=None if isinstance(by, Operator) else by,
            expires_at=database_now() + timedelta(days=LINK_DAYS),
        )
        data = {"name": row.name, "role": role.value}
        verb.record(
            "sso.link_made", actor=actor, subject=("tenant", tenant_id), data=data
        )
        return text

    return change(tenant_id, work)


def _config(tenant_id: UUID, told: Told) -> SingleSignOn:
    config = SingleSignOn.objects.filter(
        tenant_id=tenant_id, issuer=told.issuer
    ).first()
    if config is None:
        raise NOT_FOUND()
    return config


def _known(tenant_id: UUID, told: Told) -> ExternalIdentity | None:
    return ExternalIdentity.objects.filter(
        tenant_id=tenant_id, issuer=told.issuer, subject=told.subject
    ).first()


def _admit(verb: Verb, config: SingleSignOn, told: Told, link: str) -> ExternalIdentity:
    """Make the identity a new member: by a link, or where all are let in."""
    actor = Actor("system", PROVIDER)
    if not link and not config.admits:
        raise NOT_INVITED("Ask those who administer the tenant for a link.")
    _refuse_second_account(verb.tenant_id, told.email)
    row = _use(verb.tenant_id, link) if link else None
    role = Role(row.role if row else config.role)
    name = row.name if row else told.name
    user = _newcomer(name)
    member = admit(verb, actor=actor, user=user, role=role, name=name)
    return _identify(verb, actor, member.id, told)


def _refuse_second_account(tenant_id: UUID, email: str) -> None:
    """Two keys of one person are one key. Members of this tenant alone are looked at."""
    if not email:
        return
    here = Member.objects.filter(tenant_id=tenant_id)
    told_so = ExternalIdentity.objects.filter(
        tenant_id=tenant_id, email__iexact=email
    ).values("member_id")
    if here.filter(Q(user__email__iexact=email) | Q(id__in=told_so)).exists():
        raise ACCOUNT_EXISTS("Sign in as you did so far, and connect the two.")


def _use(tenant_id: UUID, link: str) -> JoinLink:
    rows = JoinLink.objects.filter(tenant_id=tenant_id, digest=_digest(link))
    live = rows.filter(used_at=None, expires_at__gt=database_now())
    if not live.update(used_at=ClockTimestamp()):
        raise LINK_DEAD("Ask for another one.")
    return rows.get()


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
    actor = Actor("system", PROVIDER)
    for group in Group.objects.filter(tenant_id=verb.tenant_id, id__in=wanted):
        is_in = group.django_group_id in held
        if wanted[group.id] and not is_in:
            join_group(verb, actor=actor, group=group, member_id=member.id)
        elif is_in and not wanted[group.id]:
            leave_group(verb, actor=actor, group=group, member_id=member.id)


def _digest(link: str) -> bytes:
    return sha256(link.encode()).digest()


def _record(
    verb: Verb, kind: str, actor: Actor, member_id: UUID, identity: ExternalIdentity
) -> None:
    # The subject is a digest: who may read the log need not learn an id elsewhere.
    data = {
        "issuer": identity.issuer,
        "subject_sha256": sha256(identity.subject.encode()).hexdigest(),
    }
    verb.record(kind, actor=actor, subject=("member", member_id), data=data)
