"""Founding a company of the cast: people, groups, agents, keys, queues and rights."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from uuid import UUID

from approvals.services.queues import create_queue, give_right
from config.demo.record import SignIn, TenantRecord
from config.demo.seed.cast import COMPANIES, REVIEWERS, Company, Desk, new_password
from tenants.checks import Operator
from tenants.models import Tenant, User
from tenants.principal import Principal
from tenants.services import (
    add_member,
    add_to_group,
    add_user,
    create_agent,
    create_group,
    create_tenant,
    issue_key,
)

BY = Operator.CONSOLE
ENVIRONMENT = "demo"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sign:
    """A sign-in identity that was made, and its password in clear."""

    user: User
    password: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Founded:
    """A company as it stands. Members by e-mail address, the rest by name."""

    company: Company
    tenant: Tenant
    members: dict[str, UUID]
    groups: dict[str, UUID]
    agents: dict[str, Principal]
    keys: dict[str, str]

    @property
    def tenant_id(self) -> UUID:
        return self.tenant.id

    def record(self, signs: dict[str, Sign]) -> TenantRecord:
        """What is written of it into demo.json."""
        return TenantRecord(
            slug=self.company.slug,
            api_keys=self.keys,
            users=[
                SignIn(
                    email=one.email,
                    password=signs[one.email].password,
                    roles=[one.role.value],
                )
                for one in self.company.people
            ],
        )


def add_people() -> dict[str, Sign]:
    """Make everybody's sign-in identity. Hashing a password takes a second of a core."""
    everybody = {one.email: one for company in COMPANIES for one in company.people}

    def add(email: str) -> Sign:
        password = new_password()
        user = add_user(email=email, name=everybody[email].name, password=password)
        return Sign(user=user, password=password)

    with ThreadPoolExecutor() as pool:
        return dict(zip(everybody, pool.map(add, everybody), strict=True))


def found(company: Company, signs: dict[str, Sign]) -> Founded:
    """Make the tenant with everything in it but work."""
    founder, *others = company.people
    made = create_tenant(
        slug=company.slug,
        name=company.name,
        owner_id=signs[founder.email].user.id,
        solo=company.solo,
    )
    members = {founder.email: made.owner.id}
    for one in others:
        member = add_member(
            tenant_id=made.tenant.id,
            by=BY,
            user_id=signs[one.email].user.id,
            role=one.role,
        )
        members[one.email] = member.id
    founded = Founded(
        company=company,
        tenant=made.tenant,
        members=members,
        groups={REVIEWERS: made.reviewers.id},
        agents={},
        keys={},
    )
    _gather(founded)
    for desk in company.desks:
        _open(founded, desk)
    for agent, owner in company.agents.items():
        _employ(founded, agent, owner)
    return founded


def _gather(founded: Founded) -> None:
    """Put people into their groups. The founder is among the reviewers already."""
    company, tenant_id = founded.company, founded.tenant_id
    for name in company.groups:
        if name not in founded.groups:
            group = create_group(tenant_id=tenant_id, by=BY, name=name)
            founded.groups[name] = group.id
    for one in company.people:
        for name in one.groups:
            if (one, name) != (company.people[0], REVIEWERS):
                add_to_group(
                    tenant_id=tenant_id,
                    by=BY,
                    group_id=founded.groups[name],
                    member_id=founded.members[one.email],
                )


def _open(founded: Founded, desk: Desk) -> None:
    queue = create_queue(
        tenant_id=founded.tenant_id,
        by=BY,
        slug=desk.slug,
        name=desk.name,
        default=desk.default,
    )
    for group, rights in desk.rights.items():
        for right in rights:
            give_right(
                tenant_id=founded.tenant_id,
                by=BY,
                queue_id=queue.id,
                right=right,
                group_id=founded.groups[group],
            )


def _employ(founded: Founded, name: str, owner: str) -> None:
    agent = create_agent(
        tenant_id=founded.tenant_id,
        by=BY,
        name=name,
        owners=[founded.members[owner]],
    )
    issued = issue_key(
        tenant_id=founded.tenant_id,
        by=BY,
        agent_id=agent.id,
        name="Demo",
        environment=ENVIRONMENT,
    )
    founded.keys[name] = issued.text
    founded.agents[name] = Principal(
        tenant_id=founded.tenant_id,
        agent_id=agent.id,
        key_id=issued.key.id,
        environment=issued.key.environment,
        scopes=frozenset(issued.key.scopes),
    )
