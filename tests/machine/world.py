"""A tenant with everything in it that can change, and a bystander that must not."""

from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID

from approvals.services.queues import create_queue, give_right
from checkpoints.models import Tool
from checkpoints.services.tools import register_tool
from tenants.models import Role
from tenants.principal import Person, Principal
from tenants.services import create_agent, create_tenant, issue_key
from tests.approvals.stage import SCHEMA, fresh_stage
from tests.factories import (
    Machine,
    Somebody,
    fresh_member,
    fresh_user,
    unique,
)
from tests.machine.company import Company, System

PEOPLE: Final = ("alice", "bob", "carol", "dave", "erin", "charlie")
TOOLS: Final = {
    # name → mode, whether the company's system honours keys, what the definition adds
    "pay": ("managed", False, {"settle": 60, "attempts": 3}),
    "book": ("managed", True, {"settle": 60, "attempts": 2, "resend": True}),
    "post": ("managed", False, {"status_url": None}),
    "sign": ("agent", False, {}),
}


@dataclass(kw_only=True)
class World:
    """Names for who and what there is; the database holds how it stands."""

    tenant_id: UUID
    people: dict[str, Somebody]
    robot: Machine
    queue_id: UUID
    reviewers_id: UUID
    tools: dict[str, Tool]
    systems: dict[str, System]
    places: dict[str, dict[str, Any]]

    @property
    def by(self) -> UUID:
        """Who administers, where it does not matter who."""
        return self.people["alice"].id

    @property
    def principal(self) -> Principal:
        """The agent, under the key that it uses now."""
        return self.robot.principal

    def person(self, name: str, *, fresh: bool = True) -> Person:
        """As their browser's session proves them; `fresh`: they just signed in."""
        ago = 0.0 if fresh else 3600.0
        person = self.people[name].person
        return replace(person, authenticated_ago=ago, methods=("password",))


def fresh_world(company: Company) -> World:
    """Alice owns the tenant and its agent, whose key Erin, an admin, has issued. Bob,
    Carol and Dave review; Dave administers too. Charlie belongs nowhere."""
    user = fresh_user("Alice")
    slug = f"alice-{unique()}"
    founded = create_tenant(slug=slug, name="Alice's", owner_id=user.id)
    alice = Somebody(user=user, member=founded.owner, slug=slug)
    group = founded.reviewers
    people = {
        "alice": alice,
        "bob": fresh_member(alice, "Bob", group=group),
        "carol": fresh_member(alice, "Carol", group=group),
        "dave": fresh_member(alice, "Dave", role=Role.ADMIN, group=group),
        "erin": fresh_member(alice, "Erin", role=Role.ADMIN, group=group),
        "charlie": bystanders()[1],
    }
    tenant_id = founded.tenant.id
    agent = create_agent(
        tenant_id=tenant_id, by=alice.id, name="robot", owners=[alice.id]
    )
    issued = issue_key(
        tenant_id=tenant_id,
        by=people["erin"].id,
        agent_id=agent.id,
        name="key",
        environment="test",
    )
    queue = create_queue(
        tenant_id=tenant_id,
        by=alice.id,
        slug="all",
        name="All",
        default=True,
        reviewers=group.id,
    )
    # Who resolves what is unknown, whatever happens to the reviewers.
    give_right(
        tenant_id=tenant_id,
        by=alice.id,
        queue_id=queue.id,
        right="resolve",
        member_id=people["erin"].id,
    )
    world = World(
        tenant_id=tenant_id,
        people=people,
        robot=Machine(agent=agent, key=issued.key, text=issued.text),
        queue_id=queue.id,
        reviewers_id=group.id,
        tools={},
        systems={},
        places={},
    )
    for name in TOOLS:
        _add_tool(world, company, name)
    return world


def definition_of(name: str, place: dict[str, Any]) -> dict[str, Any]:
    """A tool's definition; `None` among what it adds takes a part of it away."""
    whole = {"title": "{payee}: {amount}", "schema": SCHEMA, **place, **TOOLS[name][2]}
    return {key: value for key, value in whole.items() if value is not None}


def _add_tool(world: World, company: Company, name: str) -> None:
    mode, honours_keys, _ = TOOLS[name]
    place: dict[str, Any] = {}
    if mode == "managed":
        world.systems[name], place = company.system(honours_keys=honours_keys)
    world.places[name] = place
    world.tools[name] = register_tool(
        tenant_id=world.tenant_id,
        by=world.by,
        name=name,
        mode=mode,
        risk="medium",
        definition=definition_of(name, place),
    )


_bystanders: list[tuple[UUID, Somebody]] = []


def bystanders() -> tuple[UUID, Somebody]:
    """Another tenant, in the middle of its work, and the stranger who owns it."""
    if not _bystanders:
        stage = fresh_stage()
        stage.ask()
        stage.answer(stage.ask())
        _bystanders.append((stage.tenant_id, stage.house.alice))
    return _bystanders[0]
