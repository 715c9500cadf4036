"""Tenants: founding one, stopping it, and the very first of an installation."""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.conf import settings
from django.utils.crypto import constant_time_compare

from audit.append import Actor
from kernel.ids import new_id
from kernel.locks import lock_installation
from kernel.problems import NOT_FOUND, declare
from kernel.update import LostRace
from tenants.access import ADMINISTRATORS, OWNERS, any_tenant
from tenants.checks import Acting, permitted
from tenants.models import Agent, Group, Member, Role, Tenant, User
from tenants.scopes import SCOPES
from tenants.services.agents import install_agent
from tenants.services.change import change
from tenants.services.credentials import Issued, cut_key
from tenants.services.groups import form_group, join_group
from tenants.services.names import checked_name, checked_slug
from tenants.services.people import admit, person
from tenants.verbs import Verb

REVIEWERS: Final = "Reviewers"
NOT_FIRST: Final = declare(
    "not_first", status=409, title="This installation has been set up already"
)
NO_SECOND_ADMIN: Final = declare(
    "no_second_admin", status=409, title="There is no second admin"
)
WRONG_CODE: Final = declare(
    "wrong_setup_code", status=403, title="That is not the installation's setup code"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Founded:
    """A new tenant: its first owner, and the group of reviewers that holds them."""

    tenant: Tenant
    owner: Member
    reviewers: Group


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstRun:
    """A new installation's tenant, person, agent and key; `issued.text` is secret."""

    founded: Founded
    user: User
    agent: Agent
    issued: Issued


def create_tenant(
    *, slug: str, name: str, owner_id: UUID, solo: bool = False
) -> Founded:
    """Found a tenant whose owner is the user `owner_id`; for the console.

    `solo`: one person may own agents and decide, until a second member joins. Raises
    `slug_taken` (409).
    """

    def work(verb: Verb) -> Founded:
        actor = Actor("operator", verb.tenant_id)
        return _found(verb, actor, slug=slug, name=name, owner_id=owner_id, solo=solo)

    return change(new_id(), work)


def is_setup_code(code: str) -> bool:
    """Whether it is the installation's setup code. None set: nothing opens it."""
    known: str = settings.SETUP_CODE
    return bool(known) and constant_time_compare(code.strip(), known)


def first_run(
    *,
    code: str,
    slug: str,
    tenant_name: str,
    email: str,
    name: str,
    password: str,
    agent_name: str = "first-agent",
    environment: str = "production",
    solo: bool = True,
) -> FirstRun:
    """Set up an installation that has no tenant: the one change by nobody in particular.

    Raises `not_first` (409) as soon as there is a tenant, also when two arrive at once,
    and `wrong_setup_code` (403).
    """
    if not is_setup_code(code):
        raise WRONG_CODE()
    user = person(email=email, name=name, password=password)

    def work(verb: Verb) -> FirstRun:
        lock_installation()
        if any_tenant():
            raise NOT_FIRST()
        user.save(force_insert=True)
        actor = Actor("user", user.id)
        founded = _found(
            verb, actor, slug=slug, name=tenant_name, owner_id=user.id, solo=solo
        )
        owner = founded.owner.id
        agent = install_agent(verb, actor=actor, name=agent_name, owners=[owner])
        issued = cut_key(
            verb,
            actor=actor,
            agent=agent,
            name="First key",
            environment=environment,
            scopes=SCOPES,
            created_by=owner,
        )
        return FirstRun(founded=founded, user=user, agent=agent, issued=issued)

    return change(new_id(), work)


def stop_tenant(*, tenant_id: UUID, by: Acting) -> None:
    """Stop everything at once: no key works and nothing is consumed until `start`."""
    _switch(tenant_id, by, Tenant.State.STOPPED)


def start_tenant(*, tenant_id: UUID, by: Acting) -> None:
    """Let a stopped tenant work again."""
    _switch(tenant_id, by, Tenant.State.ACTIVE)


def ask_for_second_admin(*, tenant_id: UUID, by: Acting, asked: bool) -> None:
    """Let no policy come into force by its author alone; or, from the console, again.

    An owner may ask for it, and nobody among the members may end it: one person could
    end it, publish, and ask anew. Raises `no_second_admin` (409) where nobody could
    publish any more, and what `permitted` raises.
    """

    def work(verb: Verb) -> None:
        actor = permitted(tenant_id, by, roles=OWNERS if asked else frozenset())
        if asked and _administrators(tenant_id) < 2:
            raise NO_SECOND_ADMIN("Make somebody else an admin first.")
        rows = Tenant.objects.filter(id=tenant_id, second_admin=not asked)
        if rows.update(second_admin=asked):
            kind = f"tenant.second_admin_{'asked' if asked else 'ended'}"
            verb.record(kind, actor=actor, subject=("tenant", tenant_id))

    change(tenant_id, work)


def _administrators(tenant_id: UUID) -> int:
    rows = Member.objects.filter(tenant_id=tenant_id, role__in=ADMINISTRATORS)
    return rows.filter(active=True, user__is_active=True).count()


def _found(
    verb: Verb, actor: Actor, *, slug: str, name: str, owner_id: UUID, solo: bool
) -> Founded:
    lock_installation()
    tenant = Tenant.objects.create(
        id=verb.tenant_id,
        slug=checked_slug(slug),
        name=checked_name(name, most=200),
        solo=solo,
    )
    data = {"slug": slug, "solo": solo}
    subject = ("tenant", tenant.id)
    verb.record("tenant.created", actor=actor, subject=subject, data=data)
    user = User.objects.get(id=owner_id)
    owner = admit(verb, actor=actor, user=user, role=Role.OWNER, name=user.name)
    reviewers = form_group(verb, actor=actor, name=REVIEWERS)
    join_group(verb, actor=actor, group=reviewers, member_id=owner.id)
    return Founded(tenant=tenant, owner=owner, reviewers=reviewers)


def turn_tenant(
    verb: Verb, *, actor: Actor, to: Tenant.State, reason: str = ""
) -> bool:
    """Stop or start the tenant inside a verb that has checked the right to.

    False if it is so already. Raises `not_found` (404).
    """
    rows = Tenant.objects.filter(id=verb.tenant_id)
    if not rows.exists():
        raise NOT_FOUND()
    if not rows.exclude(state=to).update(state=to):
        return False
    data = {"reason": reason} if reason else None
    subject = ("tenant", verb.tenant_id)
    verb.record(f"tenant.{to}", actor=actor, subject=subject, data=data)
    return True


def _switch(tenant_id: UUID, by: Acting, to: Tenant.State) -> None:
    def work(verb: Verb) -> None:
        actor = permitted(tenant_id, by, roles=OWNERS, while_stopped=True)
        if not turn_tenant(verb, actor=actor, to=to):
            raise LostRace("The tenant is no longer in the state that this needs.")

    change(tenant_id, work)
