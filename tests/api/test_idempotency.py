"""One key, one deed: through every door that writes."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from checkpoints.services.tools import change_tool
from kernel.scope import tenant_transaction
from tenants.models import IdempotencyRecord
from tests.api import Api
from tests.api.door import Door
from tests.api.doors import POSTING
from tests.api.traces import trace
from tests.api.world import World, fresh_world
from tests.approvals.stage import ARGUMENTS, SCHEMA
from tests.approvals.superuser import superuser
from tests.examples.waiting import wait_until
from tests.factories import fresh_agent, fresh_key

KEPT = [door for door in POSTING if not door.repeatable]
WRITES = pytest.mark.parametrize("door", KEPT, ids=lambda door: door.name)
REPEATABLE = [door for door in POSTING if door.repeatable]


@pytest.fixture(scope="module")
def shared() -> World:
    return fresh_world()


@pytest.fixture
def world(shared: World) -> World:
    return shared.afresh()


def key(name: str) -> dict[str, str]:
    return {"Idempotency-Key": name}


def code(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


@WRITES
def test_the_same_again_is_answered_alike_and_done_once(
    door: Door, world: World
) -> None:
    place, raw = door.address(world), door.sample(world)
    once = key(f"again {door.name}".replace(" ", "-"))
    sent: dict[str, Any] = {"raw": raw, "address": place, "headers": once}
    first = door.call(world, **sent)
    assert first.status_code in {200, 201}, first.content
    before = trace(world.house.id)
    again = door.call(world, **sent)

    assert again["Idempotent-Replay"] == "true"
    assert "Idempotent-Replay" not in first
    assert (again.status_code, again.content) == (first.status_code, first.content)
    assert again["Content-Type"] == first["Content-Type"]
    spaced = door.call(world, **{**sent, "raw": raw + b" "})
    assert code(spaced) == (422, "idempotency_mismatch")
    assert trace(world.house.id) == before


@pytest.mark.parametrize("door", REPEATABLE, ids=lambda door: door.name)
def test_what_may_be_repeated_is_done_once_and_its_answer_not_kept(
    door: Door, world: World
) -> None:
    first = door.call(world, headers=key("again"))
    assert first.status_code in {200, 201}, first.content
    before = trace(world.house.id)
    again = door.call(world, headers=key("again"))
    assert (again.status_code, again.content) == (first.status_code, first.content)
    assert "Idempotent-Replay" not in again
    assert trace(world.house.id) == before
    with tenant_transaction(world.house.id):
        assert not IdempotencyRecord.objects.filter(key="again").exists()


def test_a_key_stands_for_one_address(world: World) -> None:
    api, once = Api.of(world.house.robot), "one-address"
    other = world.afresh()
    for run in (world.run, other.run):
        answer = api.post(f"runs/{run.id}/claim", Idempotency_Key=once)
    assert code(answer) == (422, "idempotency_mismatch")
    verb = api.post(f"runs/{world.run.id}/heartbeat", fence=1, Idempotency_Key=once)
    assert code(verb) == (422, "idempotency_mismatch")


def test_a_key_belongs_to_its_agent(world: World) -> None:
    once, body = {"Idempotency_Key": "its-agents"}, {"subject": "x"}
    first = Api.of(world.house.robot).post("sessions", body, **once)
    rotated = fresh_key(world.house.alice, world.house.robot.agent)
    again = Api.of(rotated).post("sessions", body, **once)
    assert again.content == first.content
    stranger = Api.of(fresh_world().house.robot)
    colleague = Api.of(fresh_agent(world.house.alice, name="other"))
    for other in (stranger, colleague):
        theirs = other.post("sessions", body, **once)
        assert theirs.status_code == 201
        assert theirs.json()["id"] != first.json()["id"]


def test_a_replay_needs_the_rights_of_the_first(world: World) -> None:
    once, body = {"Idempotency_Key": "rights"}, {"subject": "x"}
    Api.of(world.house.robot).post("sessions", body, **once)
    narrow = fresh_key(world.house.alice, world.house.robot.agent, scopes=["read"])
    answer = Api.of(narrow).post("sessions", body, **once)
    assert code(answer) == (403, "scope_missing")


# -- In flight --------------------------------------------------------------------------


@contextmanager
def gate_closed(tenant_id: UUID) -> Iterator[None]:
    """Hold every verb of the tenant up, on a connection of our own."""
    other = connection.copy()
    with other.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(keyturn_gate(%s))", [tenant_id])
        try:
            yield
        finally:  # a pool would keep the connection, and with it the lock
            cursor.execute("SELECT pg_advisory_unlock_all()")
    other.close()


def waits_for_a_lock() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        )
        return bool(cursor.fetchone()[0])


def test_while_the_first_is_under_way_the_second_is_told_so() -> None:
    world, elsewhere = fresh_world(), Api.of(fresh_world().house.robot)
    body, answers = {"subject": "x"}, []
    api = Api.of(world.house.robot)

    def first() -> None:
        try:
            answers.append(api.post("sessions", body, Idempotency_Key="k"))
        finally:
            connection.close()

    thread = Thread(target=first)
    with gate_closed(world.house.id):
        thread.start()
        wait_until(waits_for_a_lock)
        second = Api.of(world.house.robot).post("sessions", body, Idempotency_Key="k")
        assert code(second) == (409, "idempotency_in_flight")
        other = elsewhere.post("sessions", body, Idempotency_Key="k")
        assert other.status_code == 201
    thread.join()
    (done,) = answers
    again = api.post("sessions", body, Idempotency_Key="k")
    assert done.status_code == 201
    assert again.content == done.content


# -- What is kept -----------------------------------------------------------------------


def redeem(api: Api, request: Any, once: str) -> Any:
    place = f"approvals/{request.id}/redeem"
    return api.post(place, fence=request.run.fence, Idempotency_Key=once)


def test_a_refusal_that_ends_by_waiting_is_not_kept(world: World) -> None:
    stage, api = world.stage, Api.of(world.house.robot)
    other = {"arguments": {**ARGUMENTS, "amount": "2.00"}}
    both = stage.ask_all([{}, other], until="each")
    for request in both:
        stage.answer(request)
    first, second = both
    started = redeem(api, first, "w1").json()["effect"]
    waits = redeem(api, second, "w2")
    assert (waits.status_code, waits.json()["class"]) == (409, "wait")

    report = {"attempt": 1, "outcome": "confirmed", "external_id": "P-1"}
    place = f"effects/{started['id']}/report"
    assert api.post(place, report, fence=first.run.fence).status_code == 200
    then = redeem(api, second, "w2")
    assert then.status_code == 200, then.content
    assert "Idempotent-Replay" not in then
    assert redeem(api, second, "w2")["Idempotent-Replay"] == "true"


def test_a_refusal_that_asks_again_is_kept(world: World) -> None:
    stage, api, request = world.stage, Api.of(world.house.robot), world.approved
    definition = {**stage.tool.definition, "schema": {**SCHEMA, "maxProperties": 9}}
    change_tool(
        tenant_id=stage.tenant_id,
        by=stage.house.alice.id,
        tool_id=stage.tool.id,
        mode="agent",
        risk="high",
        definition=definition,
    )
    check_kept(world, redeem(api, request, "r1"), redeem(api, request, "r1"), "reopen")


def test_a_refusal_for_good_is_kept(world: World) -> None:
    api, request = Api.of(world.house.robot), world.approved
    with superuser() as connection:
        connection.execute(
            "UPDATE approvals_grant SET not_before = now() - interval '2 h',"
            " expires_at = now() - interval '1 h' WHERE request_id = %s",
            [request.id],
        )
    check_kept(world, redeem(api, request, "s1"), redeem(api, request, "s1"), "stop")


def check_kept(world: World, first: Any, again: Any, klass: str) -> None:
    assert first.status_code == 409
    assert first.json()["class"] == klass
    assert "Idempotent-Replay" not in first
    assert again["Idempotent-Replay"] == "true"
    assert again["Content-Type"] == "application/problem+json"
    assert again.json() == first.json()


def test_what_was_refused_as_malformed_frees_its_key(world: World) -> None:
    api = Api.of(world.house.robot)
    wrong = api.post("sessions", {"subjekt": "x"}, Idempotency_Key="free")
    assert code(wrong) == (400, "unknown_field")
    right = api.post("sessions", {"subject": "x"}, Idempotency_Key="free")
    assert right.status_code == 201
