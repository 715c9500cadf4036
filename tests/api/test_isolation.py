"""Who gets what at each door: strangers nothing, and not even that there is something."""

import re
from collections.abc import Callable
from typing import Any, Final

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from approvals.models import Decision, Request, Sight
from approvals.services.queues import give_right
from kernel.ids import new_id
from kernel.scope import tenant_transaction
from tenants.services import deactivate_member, disable_agent, revoke_key
from tests.api.door import Door
from tests.api.doors import DOORS, READING, patterns
from tests.api.traces import Trace, trace
from tests.api.world import NAMES, World, fresh_world
from tests.factories import (
    House,
    Machine,
    fresh_agent,
    fresh_house,
    fresh_key,
    fresh_member,
)

AGENTS: Final = tuple(door for door in DOORS if door.who == "agent")
MEMBERS: Final = tuple(door for door in DOORS if door.who == "member")
NAMED: Final = tuple(door for door in AGENTS if "{" in door.place)
OPEN: Final = tuple(door for door in AGENTS if "{" not in door.place)
AGENTS_DOORS = pytest.mark.parametrize("door", AGENTS, ids=lambda door: door.name)
MEMBERS_DOORS = pytest.mark.parametrize("door", MEMBERS, ids=lambda door: door.name)
NAMED_DOORS = pytest.mark.parametrize("door", NAMED, ids=lambda door: door.name)
SCOPE = re.compile(r"set_config\('app\.tenant', '([0-9a-f-]{36})'")
CONTEXT = ("approvals_revision", "checkpoints_checkpoint", "agent_sessions_fact")


@pytest.fixture(scope="module")
def world() -> World:
    return fresh_world().complete()


@pytest.fixture(scope="module")
def elsewhere() -> World:
    return fresh_world()


@pytest.fixture(scope="module")
def colleague(world: World) -> Machine:
    """Another agent of the same tenant."""
    return fresh_agent(world.house.alice, name="colleague")


@pytest.fixture(scope="module")
def narrow(world: World) -> dict[str, Machine]:
    """The very agent, with keys that were issued for less."""
    agent, alice = world.house.robot.agent, world.house.alice
    return {
        "nothing": fresh_key(alice, agent, scopes=[]),
        "reading": fresh_key(alice, agent, scopes=["read"]),
    }


@pytest.fixture(scope="module")
def dead(world: World) -> dict[str, Machine]:
    """Keys that were once good, by the code of why they are not."""
    house, by = world.house, world.house.alice.id
    revoked = fresh_key(house.alice, house.robot.agent)
    revoke_key(tenant_id=house.id, by=by, key_id=revoked.key.id)
    disabled = fresh_agent(house.alice, name="disabled")
    disable_agent(tenant_id=house.id, by=by, agent_id=disabled.agent.id)
    return {"key_revoked": revoked, "agent_disabled": disabled}


@pytest.fixture(autouse=True)
def unchanged(world: World) -> Any:
    """Whoever is turned away here has changed nothing."""
    before = rows(world)
    yield
    assert rows(world) == before


def rows(world: World) -> Trace:
    """All but the rows of those who try, and who was shown a case, which pages note."""
    tried = ("tenants_", "approvals_queue", "approvals_sight", "audit_")
    found = trace(world.house.id).items()
    return {table: row for table, row in found if not table.startswith(tried)}


def code(answer: Any) -> tuple[int, str]:
    assert answer["Content-Type"] == "application/problem+json", answer.content
    return answer.status_code, answer.json()["code"]


def headers(answer: Any) -> dict[str, str]:
    return {**answer.headers, "X-Request-ID": "its own for every request"}


def nowhere(door: Door, world: World) -> str:
    """The door's address with names of nothing."""
    return door.address(world, **{name: str(new_id()) for name in NAMES})


def check_hidden(door: Door, world: World, client: Client) -> None:
    """Theirs and nobody's are answered with the same bytes."""
    theirs = door.call(world, client)
    nobodys = door.call(world, client, address=nowhere(door, world))
    assert code(theirs) == (404, "not_found")
    assert theirs.content == nobodys.content
    assert headers(theirs) == headers(nobodys)


# -- The agents' doors ------------------------------------------------------------------


@AGENTS_DOORS
def test_without_a_key_nothing_is_said(door: Door, world: World) -> None:
    for client in (Client(), Client(headers={"Authorization": "Basic eDp5"})):
        there = door.call(world, client)
        nowhere_ = door.call(world, client, address=nowhere(door, world))
        assert code(there) == (401, "not_authenticated")
        assert there.content == nowhere_.content


@AGENTS_DOORS
def test_a_members_session_is_no_key(door: Door, world: World) -> None:
    for client in (world.house.bob.browser(), world.house.bob.scripted()):
        assert code(door.call(world, client)) == (401, "not_authenticated")


@NAMED_DOORS
def test_another_agent_finds_nothing(
    door: Door, world: World, colleague: Machine
) -> None:
    with CaptureQueriesContext(connection) as queries:
        check_hidden(door, world, colleague.client())
    said = " ".join(query["sql"] for query in queries)
    assert not [table for table in CONTEXT if f'FROM "{table}"' in said]


@NAMED_DOORS
def test_another_tenants_agent_finds_nothing(
    door: Door, world: World, elsewhere: World
) -> None:
    before = rows(elsewhere)
    with CaptureQueriesContext(connection) as queries:
        check_hidden(door, world, elsewhere.house.robot.client())
    scopes = {scope for query in queries for scope in SCOPE.findall(query["sql"])}
    # The waiting door reads on a thread of its own, which is not heard here.
    assert scopes == {str(elsewhere.house.id)} or "wait" in door.query
    assert rows(elsewhere) == before


@pytest.mark.parametrize(
    "door",
    [door for door in OPEN if door.method == "get" and not door.shared],
    ids=lambda door: door.name,
)
def test_others_lists_are_empty(door: Door, world: World, colleague: Machine) -> None:
    for machine in (colleague, fresh_house().robot):
        listed = door.call(world, machine.client()).json()
        assert listed == {"items": [], "next": None}


@pytest.mark.parametrize(
    ("place", "body"),
    [
        ("approvals", {"tool": "pay", "arguments": {}, "session": "{session}"}),
        ("approvals", {"tool": "pay", "arguments": {}, "run": "{run}"}),
    ],
)
def test_what_a_body_names_is_hidden_alike(
    place: str,
    body: dict[str, Any],
    world: World,
    elsewhere: World,
    colleague: Machine,
) -> None:
    def ask(client: Client, **names: str) -> Any:
        said = {
            key: value.format(**names) if isinstance(value, str) else value
            for key, value in body.items()
        }
        sent: Any = {"content_type": "application/json"}
        return client.post(
            f"/api/v1/{place}", said, headers={"Keyturn-Fence": "1"}, **sent
        )

    names = {"session": str(world.session), "run": str(world.run.id)}
    for machine in (colleague, elsewhere.house.robot):
        theirs = ask(machine.client(), **names)
        nobodys = ask(machine.client(), session=str(new_id()), run=str(new_id()))
        assert code(theirs) == (404, "not_found")
        assert theirs.content == nobodys.content


@AGENTS_DOORS
def test_a_key_does_only_what_it_was_issued_for(
    door: Door, world: World, narrow: dict[str, Machine]
) -> None:
    keys = ["nothing"] if door.method == "get" else ["nothing", "reading"]
    for name in keys:
        answer = door.call(world, narrow[name].client())
        assert code(answer) == (403, "scope_missing")


@AGENTS_DOORS
def test_a_dead_key_opens_nothing(
    door: Door, world: World, dead: dict[str, Machine]
) -> None:
    for why, machine in dead.items():
        assert code(door.call(world, machine.client())) == (401, why)


# -- The members' doors -----------------------------------------------------------------


@MEMBERS_DOORS
def test_nobody_decides_without_signing_in(door: Door, world: World) -> None:
    answer = door.call(
        world, Client(headers={"Keyturn-Tenant": world.house.alice.slug})
    )
    assert code(answer) == (401, "not_authenticated")
    assert answer["WWW-Authenticate"].startswith("Cookie")


@MEMBERS_DOORS
def test_an_agent_never_decides(door: Door, world: World) -> None:
    bob, key = world.house.bob, world.house.robot.text
    borrowed = bob.scripted()
    for client in (world.house.robot.client(), borrowed):
        answer = door.call(world, client, headers={"Authorization": f"Bearer {key}"})
        assert code(answer) == (403, "agents_cannot_decide")


@MEMBERS_DOORS
def test_another_site_cannot_make_a_member_decide(door: Door, world: World) -> None:
    bob = world.house.bob
    named = {"Keyturn-Tenant": bob.slug}
    assert code(door.call(world, bob.browser(**named))) == (403, "csrf_failed")
    guessed = {**named, "X-CSRFToken": "b" * 32}
    assert code(door.call(world, bob.browser(**guessed))) == (403, "csrf_failed")
    foreign = {"Origin": "https://evil.example"}
    answer = door.call(world, bob.scripted(), headers=foreign)
    assert code(answer) == (403, "csrf_failed")
    form = door.call(
        world,
        bob.browser(**named),
        raw=b"csrfmiddlewaretoken=" + b"a" * 32,
        kind="application/x-www-form-urlencoded",
    )
    assert code(form) == (403, "csrf_failed")


@MEMBERS_DOORS
def test_a_member_says_in_which_tenant(door: Door, world: World) -> None:
    answer = door.call(
        world, world.house.bob.scripted(), headers={"Keyturn-Tenant": ""}
    )
    assert code(answer) == (400, "tenant_required")


def stranger(house: House) -> Client:
    return house.charlie.scripted()


def stranger_in_our_tenant(house: House) -> Client:
    client = house.charlie.scripted()
    client.defaults["HTTP_KEYTURN_TENANT"] = house.alice.slug
    return client


def colleague_without_the_queue(house: House) -> Client:
    return fresh_member(house.alice, "Dave").scripted()


def former_colleague(house: House) -> Client:
    gone = fresh_member(house.alice, "Erin", group=house.reviewers)
    client = gone.scripted()
    deactivate_member(tenant_id=house.id, by=house.alice.id, member_id=gone.id)
    return client


@MEMBERS_DOORS
@pytest.mark.parametrize(
    "who",
    [
        stranger,
        stranger_in_our_tenant,
        colleague_without_the_queue,
        former_colleague,
    ],
)
def test_to_those_who_may_not_see_it_there_is_nothing_to_decide(
    door: Door, who: Callable[[House], Client], world: World
) -> None:
    check_hidden(door, world, who(world.house))


@MEMBERS_DOORS
def test_who_may_only_look_is_told_so(door: Door, world: World) -> None:
    house, onlooker = world.house, fresh_member(world.house.alice, "Frank")
    give_right(
        tenant_id=house.id,
        by=house.alice.id,
        queue_id=world.stage.queue.id,
        right="view",
        member_id=onlooker.id,
    )
    # What is one's own takes no right; and they have answered nothing.
    own = door.route.endswith("/take-back")
    told = (409, "not_answered") if own else (403, "not_permitted")
    assert code(door.call(world, onlooker.scripted())) == told


# -- Every address, the pages' too ------------------------------------------------------


def every_address(world: World) -> dict[str, str]:
    """Each route with this world's things in it."""
    found = {}
    for route, _ in patterns():
        place = route.replace("<slug:slug>", world.house.alice.slug)
        place = place.replace("<sha256:digest>", world.artifact)
        for name in ("pending", "run", "session", "effect"):
            filled = re.sub(r"<uuid:\w+>", str(name_of(world, name)), place)
            filled = re.sub(r"<\w+:number>", "1", filled)
            if "<" not in filled and "(" not in filled:
                found[f"{route} {name}"] = f"/{filled}"
    assert len(found) > 50
    return found


def name_of(world: World, name: str) -> Any:
    thing = getattr(world, name)
    return getattr(thing, "id", thing)


def test_no_get_anywhere_changes_anything(world: World) -> None:
    """But that a page notes whom it showed a case: those who may see it, and no other."""
    before = trace(world.house.id)
    agent, bob = world.house.robot.client(), world.house.bob.scripted()
    alice = world.house.alice.scripted()
    for place in set(every_address(world).values()):
        if place.endswith("/stream"):
            continue  # it never ends; its own tests read it
        for get in (agent.get, alice.get, bob.head):
            get(place)
    after = trace(world.house.id)
    assert {t for t in after if after[t] != before[t]} <= {Sight._meta.db_table}
    with tenant_transaction(world.house.id):
        shown = set(Sight.objects.values_list("member_id", flat=True))
    assert shown <= {world.house.alice.id, world.house.bob.id}


def test_no_address_anywhere_takes_an_agents_decision(world: World) -> None:
    agent = world.house.robot.client(**{"Keyturn-Tenant": world.house.alice.slug})
    digest = world.stage.digest(world.pending).hex()
    said = {"verdict": "approve", "digest": digest}
    for place in set(every_address(world).values()):
        if place.endswith("/artifacts"):
            continue  # takes any JSON there is, as a file
        for method in (agent.post, agent.put, agent.patch):
            method(place, said, content_type="application/json")
        agent.post(place, said)
    with tenant_transaction(world.house.id):
        assert not Decision.objects.filter(request_id=world.pending.id).exists()
        assert Request.objects.get(id=world.pending.id).state == "pending"


def test_a_head_and_a_get_are_answered_alike(world: World) -> None:
    for door in READING:
        client, place = door.client(world), door.address(world)
        assert client.head(place).status_code == client.get(place).status_code == 200
