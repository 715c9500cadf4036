"""The cast, made by the real services: every test gets a tenant of its own.

Alice owns the tenant and answers for its agent, Bob is her team-mate, a reviewer, and
Charlie is a stranger, with a tenant of his own, made when a test first names him. Names
differ from test to test, since nothing is flushed.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from uuid import UUID

from django.conf import settings
from django.test import Client

from kernel.ids import new_id
from tenants.models import Agent, ApiKey, Group, Member, Role, Tenant, User
from tenants.principal import Person, Principal
from tenants.scopes import SCOPES
from tenants.services import (
    add_member,
    add_to_group,
    add_user,
    create_agent,
    create_tenant,
    issue_key,
)
from tests.copies import Original


@dataclass(frozen=True, slots=True, kw_only=True)
class Somebody:
    """A user and the member that they are in the one tenant they belong to."""

    user: User
    member: Member
    slug: str

    @property
    def id(self) -> UUID:
        """The member's id: what verbs take as `by`."""
        return self.member.id

    @property
    def person(self) -> Person:
        """As their browser session would prove them to be."""
        return Person(
            tenant_id=self.member.tenant_id,
            member_id=self.member.id,
            user_id=self.user.id,
        )

    def browser(self, **headers: str) -> Client:
        """A browser that they are signed in with; forms need their CSRF token."""
        client = Client(enforce_csrf_checks=True, headers=headers)
        client.force_login(self.user)
        return client

    def scripted(self) -> Client:
        """The same browser's script on a page of theirs: it may call the API."""
        token = "a" * 32
        client = self.browser(**{"Keyturn-Tenant": self.slug, "X-CSRFToken": token})
        client.cookies[settings.CSRF_COOKIE_NAME] = token
        return client


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """An agent with a key; `text` is what goes into `Authorization: Bearer`."""

    agent: Agent
    key: ApiKey
    text: str

    @property
    def principal(self) -> Principal:
        """As its key would prove it to be."""
        return Principal(
            tenant_id=self.agent.tenant_id,
            agent_id=self.agent.id,
            key_id=self.key.id,
            environment=self.key.environment,
            scopes=frozenset(self.key.scopes),
        )

    def client(self, **headers: str) -> Client:
        """An HTTP client that authenticates with the key."""
        return Client(headers={"Authorization": f"Bearer {self.text}", **headers})


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """A tenant with its people and agent, and a stranger outside."""

    tenant: Tenant
    reviewers: Group
    alice: Somebody
    bob: Somebody
    robot: Machine
    stranger: Callable[[], Somebody] = field(default_factory=lambda: cache(_stranger))

    @property
    def id(self) -> UUID:
        return self.tenant.id

    @property
    def charlie(self) -> Somebody:
        return self.stranger()


def fresh_house(*, agent_name: str = "robot") -> House:
    """Alice's tenant with Bob as a reviewer, her agent, and Charlie elsewhere."""
    _somebody_elsewhere()
    return _first_house(agent_name).copy()


@cache
def _first_house(agent_name: str) -> Original[House]:
    house = made_house(agent_name)
    return Original(house, tenant_id=house.id, key=house.robot.text)


def made_house(agent_name: str) -> House:
    """The same, by the verbs."""
    tenant, alice, reviewers = fresh_tenant("Alice")
    return House(
        tenant=tenant,
        reviewers=reviewers,
        alice=alice,
        bob=fresh_member(alice, "Bob", group=reviewers),
        robot=fresh_agent(alice, name=agent_name),
    )


def _stranger() -> Somebody:
    return fresh_tenant("Charlie")[1]


# No test is ever alone with its tenant, also where it names no stranger.
_somebody_elsewhere = cache(_stranger)


def fresh_tenant(
    owner_name: str = "Alice", *, solo: bool = False
) -> tuple[Tenant, Somebody, Group]:
    """A tenant, its owner, and its group of reviewers, which holds the owner."""
    user = fresh_user(owner_name)
    slug = f"{owner_name.lower()}-{unique()}"
    founded = create_tenant(
        slug=slug, name=f"{owner_name}'s", owner_id=user.id, solo=solo
    )
    owner = Somebody(user=user, member=founded.owner, slug=slug)
    return founded.tenant, owner, founded.reviewers


def fresh_member(
    by: Somebody,
    name: str,
    *,
    role: Role = Role.REVIEWER,
    group: Group | None = None,
) -> Somebody:
    """One more member of `by`'s tenant, in `group` if there is one."""
    user = fresh_user(name)
    tenant_id = by.member.tenant_id
    member = add_member(tenant_id=tenant_id, by=by.id, user_id=user.id, role=role)
    if group is not None:
        add_to_group(
            tenant_id=tenant_id, by=by.id, group_id=group.id, member_id=member.id
        )
    return Somebody(user=user, member=member, slug=by.slug)


def fresh_agent(owner: Somebody, *, name: str = "robot", **key: Any) -> Machine:
    """An agent that `owner` answers for, with a key that they issued."""
    agent = create_agent(
        tenant_id=owner.member.tenant_id, by=owner.id, name=name, owners=[owner.id]
    )
    return fresh_key(owner, agent, **key)


def fresh_key(
    by: Somebody,
    agent: Agent,
    *,
    environment: str = "test",
    scopes: Collection[str] = tuple(SCOPES),
    **options: Any,
) -> Machine:
    """One more key of `agent`."""
    issued = issue_key(
        tenant_id=agent.tenant_id,
        by=by.id,
        agent_id=agent.id,
        name="key",
        environment=environment,
        scopes=scopes,
        **options,
    )
    return Machine(agent=agent, key=issued.key, text=issued.text)


def fresh_user(name: str, *, password: str | None = None) -> User:
    """Someone who can sign in, and belongs nowhere yet."""
    return add_user(
        email=f"{name.lower()}-{unique()}@example.test", name=name, password=password
    )


def unique() -> str:
    """A word that no other test has used."""
    return new_id().hex[-12:]
