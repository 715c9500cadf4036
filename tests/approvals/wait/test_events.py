"""`GET events`: an agent's own events, in order, none lost between two connections."""

import asyncio
import gc
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from django.test import AsyncClient, Client

from approvals.wait import events as view
from approvals.wait.hub import Hub
from approvals.wait.places import places
from tenants.services import revoke_key
from tests.approvals.stage import Stage, fresh_stage
from tests.approvals.wait.asynchronous import beside, on_a_loop, read, until
from tests.factories import Machine, fresh_agent, fresh_key

WITHIN = 20.0  # seconds that an event may take before the test gives up


@pytest.fixture(scope="module")
def stage() -> Stage:
    return fresh_stage()


class Listener:
    """An open stream, read event by event."""

    def __init__(self, body: AsyncIterator[bytes]) -> None:
        self._body = body
        self._kept: list[dict[str, Any]] = []
        self.last = ""

    async def event(self) -> dict[str, Any]:
        """The next event's `data`."""
        while not self._kept:
            async with asyncio.timeout(WITHIN):
                self._take((await anext(self._body)).decode())
        return self._kept.pop(0)

    async def types(self, many: int) -> list[str]:
        return [(await self.event())["type"] for _ in range(many)]

    async def ended(self) -> list[dict[str, Any]]:
        """What was still told until the server ended it."""
        async with asyncio.timeout(WITHIN):
            async for text in self._body:
                self._take(text.decode())
        return self._kept

    def _take(self, text: str) -> None:
        for block in text.split("\n\n"):
            lines = dict(
                one.split(": ", 1) for one in block.splitlines() if ": " in one
            )
            if "data" in lines:
                told = json.loads(lines["data"])
                assert lines["event"] == told["type"]
                self.last = lines["id"]
                self._kept.append(told)


async def connect(machine: Machine, **headers: str) -> Any:
    sent = {"Authorization": f"Bearer {machine.text}"}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    return await AsyncClient().get("/api/v1/events", headers=sent)


@asynccontextmanager
async def listening(machine: Machine, **headers: str) -> AsyncIterator[Listener]:
    answer = await connect(machine, **headers)
    assert answer.status_code == 200, getattr(answer, "content", answer)
    assert answer.headers["Content-Type"] == "text/event-stream"
    body = aiter(answer.streaming_content)
    try:
        yield Listener(body)
    finally:
        await body.aclose()
        del answer, body
        gc.collect()  # the test client's answers refer to themselves


def test_what_happens_is_told_in_order(stage: Stage) -> None:
    async def story() -> None:
        async with listening(stage.house.robot) as one:
            request = await beside(stage.ask)
            assert await one.types(2) == ["approval.requested", "run.paused"]
            await beside(lambda: stage.answer(request))
            told = await one.event()
            assert told["type"] == "approval.decided"
            assert told["data"]["approval"] == str(request.id)
            assert told["data"]["status"] == "approved"
            assert "arguments" not in told["data"]

    on_a_loop(story())


def test_whoever_comes_back_has_missed_nothing(stage: Stage) -> None:
    async def story() -> None:
        async with listening(stage.house.robot) as one:
            request = await beside(stage.ask)
            await one.types(2)
            last = one.last
        await beside(lambda: stage.answer(request))
        await beside(stage.ask)
        async with listening(stage.house.robot, Last_Event_ID=last) as again:
            assert await again.types(3) == [
                "approval.decided",
                "approval.requested",
                "run.paused",
            ]
        async with listening(stage.house.robot, Last_Event_ID=again.last) as third:
            await beside(stage.ask)
            assert await third.types(1) == ["approval.requested"]

    on_a_loop(story())


def test_a_long_past_is_told_in_parts(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view, "ENTRIES", 2)
    own = fresh_stage()
    for _ in range(3):
        own.ask()

    async def story() -> None:
        async with listening(own.house.robot, Last_Event_ID="0") as one:
            assert await one.types(6) == ["approval.requested", "run.paused"] * 3

    on_a_loop(story())


def test_a_decision_between_reading_and_listening_is_told(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Right after the read that found nothing, before anybody waits."""
    request, real = stage.ask(), view._read
    decided: list[bool] = []

    def read_then_decide(credential: str | None, seen: int) -> Any:
        part = real(credential, seen)
        if not decided:
            decided.append(True)
            stage.answer(request)
        return part

    monkeypatch.setattr(view, "_read", read_then_decide)

    async def story() -> None:
        async with listening(stage.house.robot) as one:
            assert (await one.event())["type"] == "approval.decided"

    on_a_loop(story())


def test_a_lost_notification_costs_seconds_and_no_event(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tenants.verbs.notify", lambda *_: None)
    quick = Hub(look_again=0.1)
    monkeypatch.setattr(view, "hub", lambda: quick)

    async def story() -> None:
        async with listening(stage.house.robot) as one:
            await beside(stage.ask)
            assert await one.types(2) == ["approval.requested", "run.paused"]

    on_a_loop(story())


def test_another_agents_events_are_not_told(stage: Stage) -> None:
    other = fresh_agent(stage.house.alice, name="other")
    elsewhere = fresh_stage()

    async def story() -> None:
        async with (
            listening(other, Last_Event_ID="0") as one,
            listening(elsewhere.house.robot) as two,
        ):
            await beside(stage.ask)
            await beside(elsewhere.ask)
            assert await two.types(2) == ["approval.requested", "run.paused"]
            await beside(
                lambda: revoke_key(
                    tenant_id=stage.tenant_id,
                    by=stage.house.alice.id,
                    key_id=other.key.id,
                )
            )
            await beside(stage.ask)
            assert await one.ended() == []

    on_a_loop(story())


def test_a_revoked_key_hears_nothing_more(stage: Stage) -> None:
    machine = fresh_key(stage.house.alice, stage.house.robot.agent)

    async def story() -> None:
        async with listening(machine) as one:
            await beside(stage.ask)
            await one.types(2)
            await beside(
                lambda: revoke_key(
                    tenant_id=stage.tenant_id,
                    by=stage.house.alice.id,
                    key_id=machine.key.id,
                )
            )
            await beside(stage.ask)
            assert await one.ended() == []

    on_a_loop(story())


@pytest.mark.parametrize("last", ["", "-1", "1.5", "x", "9" * 19, "٣"])
def test_an_id_that_is_none_is_refused(stage: Stage, last: str) -> None:
    answer = Client().get(
        "/api/v1/events",
        headers={
            "Authorization": f"Bearer {stage.house.robot.text}",
            "Last-Event-ID": last,
        },
    )
    assert answer.status_code == 400
    assert answer.json()["code"] == "last_event_id_malformed"


def test_an_id_of_another_log_begins_now(stage: Stage) -> None:
    async def story() -> None:
        async with listening(stage.house.robot, Last_Event_ID="9" * 18) as one:
            await beside(stage.ask)
            assert await one.types(2) == ["approval.requested", "run.paused"]

    on_a_loop(story())


def test_who_may_not_listen(stage: Stage) -> None:
    writer = fresh_key(
        stage.house.alice, stage.house.robot.agent, scopes=["approvals:write"]
    )
    client = writer.client()
    assert client.get("/api/v1/events").json()["code"] == "scope_missing"
    assert Client().get("/api/v1/events").status_code == 401
    assert client.post("/api/v1/events").status_code == 405
    unknown = stage.house.robot.client().get("/api/v1/events?since=4")
    assert unknown.json()["code"] == "invalid_parameter"


def test_a_key_holds_only_so_many(stage: Stage, settings: Any) -> None:
    settings.WAITS_PER_KEY = 2
    robot = stage.house.robot
    other = fresh_key(stage.house.alice, robot.agent)
    request = stage.ask()
    wait = "wait=60&until=decided"

    async def story() -> None:
        async with listening(robot):
            waiting = asyncio.create_task(read(robot, request, wait))
            await until(lambda: places.held(robot.key.id) == 2)
            for refused in (await read(robot, request, wait), await connect(robot)):
                assert refused.status_code == 429
                assert refused.headers["Retry-After"] == "5"
            async with listening(other):
                pass
            assert (await read(robot, request)).status_code == 200
            await beside(lambda: stage.answer(request))
            assert (await waiting).status_code == 200
        await until(lambda: not places.held(robot.key.id))
        async with listening(robot):
            pass

    on_a_loop(story())
