"""`GET approvals/{id}?wait=N&until=…`, on an event loop."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from asgiref.sync import iscoroutinefunction
from django.conf import settings
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from django.utils.module_loading import import_string

from approvals.models import Decision, ResumeJob
from approvals.resume.work import work
from approvals.wait import approval as view
from approvals.wait import pace as pacing
from approvals.wait.hub import Hub, News, hub
from approvals.wait.pace import Pace
from kernel.scope import tenant_transaction
from tenants.authentication import claims
from tenants.services import revoke_key
from tests.approvals.stage import Stage, fresh_stage
from tests.approvals.wait.asynchronous import beside, on_a_loop, read, until
from tests.factories import Machine, fresh_agent, fresh_key

CHANGES = {"verdict": Decision.Verdict.REQUEST_CHANGES, "reason": "Which one?"}


@pytest.fixture(scope="module")
def stage() -> Stage:
    return fresh_stage()


def body(answer: Any, status: int = 200) -> Any:
    assert answer.status_code == status, answer.content
    return json.loads(answer.content)


async def somebody_waits() -> None:
    await until(lambda: hub()._versions)


def verified(stage: Stage, request: Any) -> None:
    with tenant_transaction(stage.tenant_id):
        job = ResumeJob.objects.get(request=request)
    assert work(job.id) == "ready"


# -- Until when -------------------------------------------------------------------------


def test_without_waiting_it_is_answered_as_it_is(stage: Stage) -> None:
    request = stage.ask()
    for query in ("", "wait=0", "until=decided", "wait=00"):
        answer = on_a_loop(read(stage.house.robot, request, query))
        if query == "wait=00":
            assert answer.status_code == 400
        else:
            assert body(answer)["status"] == "pending"


@pytest.mark.parametrize(
    ("until_", "said", "status", "then"),
    [
        ("decided", {}, "approved", "wait"),
        ("decided", CHANGES, "changes_requested", "revise"),
        ("done", CHANGES, "changes_requested", "revise"),
    ],
)
def test_a_decision_ends_the_wait(
    stage: Stage, until_: str, said: dict[str, Any], status: str, then: str
) -> None:
    request = stage.ask()

    async def story() -> Any:
        wait = read(stage.house.robot, request, f"wait=20&until={until_}")
        waiting = asyncio.create_task(wait)
        await somebody_waits()
        await beside(lambda: stage.answer(request, **said))
        return await waiting

    document = body(on_a_loop(story()))
    assert (document["status"], document["next"]) == (status, then)


def test_done_is_more_than_decided(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    request, read_now, statuses = stage.ask(), view.readings._read, []

    def noted(*args: Any) -> Any:
        read = read_now(*args)
        statuses.extend(one.found.request.state for one in read.values())
        return read

    monkeypatch.setattr(view.readings, "_read", noted)

    async def story() -> Any:
        waiting = asyncio.create_task(read(stage.house.robot, request, "wait=20"))
        await somebody_waits()
        await beside(lambda: stage.answer(request))
        await until(lambda: "approved" in statuses)
        assert not waiting.done()
        await beside(lambda: verified(stage, request))
        return await waiting

    assert body(on_a_loop(story()))["next"] == "redeem"


def test_time_ends_the_wait_with_the_state_as_it_is(stage: Stage) -> None:
    answer = on_a_loop(read(stage.house.robot, stage.ask(), "wait=1"))
    assert body(answer)["next"] == "wait"


def test_a_decision_between_reading_and_registering_is_not_lost(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = stage.ask()

    class Slow:
        """The hub, which somebody reaches only after everything has happened."""

        @contextlib.asynccontextmanager
        async def waiting(self, *topics: str) -> AsyncIterator[News]:
            await beside(lambda: stage.answer(request))
            async with hub().waiting(*topics) as news:
                yield news

    monkeypatch.setattr(view, "hub", Slow)
    wait = read(stage.house.robot, request, "wait=60&until=decided")
    assert body(on_a_loop(wait))["status"] == "approved"


def test_a_decision_between_reading_and_listening_is_not_lost(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    request, read_now = stage.ask(), view.readings._read

    def read_then_decide(*args: Any) -> Any:
        monkeypatch.setattr(view.readings, "_read", read_now)
        read = read_now(*args)
        stage.answer(request)
        return read

    monkeypatch.setattr(view.readings, "_read", read_then_decide)
    never_looks = Hub(look_again=3600)
    monkeypatch.setattr(view, "hub", lambda: never_looks)
    wait = read(stage.house.robot, request, "wait=60&until=decided")
    assert body(on_a_loop(wait))["status"] == "approved"


# -- Who may hear -----------------------------------------------------------------------


def test_those_who_are_read_for_together_learn_their_own(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    house, request, broken = stage.house, stage.ask(), stage.ask()
    stranger = fresh_agent(house.alice, name="stranger")
    dead = fresh_key(house.alice, house.robot.agent)
    blind = fresh_key(house.alice, house.robot.agent, scopes=["approvals:write"])
    revoke_key(tenant_id=house.id, by=house.alice.id, key_id=dead.key.id)
    tell = view.as_json

    def fail(found: Any, **named: Any) -> Any:
        return 1 // 0 if found.request.id == broken.id else tell(found, **named)

    monkeypatch.setattr(view, "as_json", fail)
    asked = [
        (house.robot, request, "Reading"),
        (house.robot, broken, "ZeroDivisionError"),
        (stranger, request, "not_found"),
        (dead, request, "key_revoked"),
        (blind, request, "scope_missing"),
    ]
    found = claims([machine.text for machine, _, _ in asked])
    pairs: Any = [(found[machine.text], one.id) for machine, one, _ in asked]
    told = view._read(house.id, pairs)
    kinds = [getattr(told[pair], "code", type(told[pair]).__name__) for pair in pairs]
    assert kinds == [expected for _, _, expected in asked]


def test_a_key_that_is_revoked_meanwhile_learns_nothing(stage: Stage) -> None:
    request, house = stage.ask(), stage.house
    machine = fresh_key(house.alice, house.robot.agent)
    key = {"tenant_id": house.id, "by": house.alice.id, "key_id": machine.key.id}

    async def story() -> list[Any]:
        waits = [
            asyncio.create_task(read(machine, request, f"wait={n}")) for n in (1, 20)
        ]
        await until(lambda: len(hub()._waiters.get(topic_of(request), ())) == 2)
        await beside(lambda: revoke_key(**key))
        timed_out = await waits[0]
        await beside(lambda: stage.answer(request, **CHANGES))
        return [timed_out, await waits[1]]

    for answer in on_a_loop(story()):
        assert body(answer, 401)["code"] == "key_revoked"
        assert answer["Content-Type"] == "application/problem+json"


def topic_of(request: Any) -> str:
    return f"{request.tenant_id}:{request.id}"


def test_a_caller_that_hangs_up_is_forgotten(stage: Stage) -> None:
    request = stage.ask()

    async def story() -> None:
        waiting = asyncio.create_task(read(stage.house.robot, request, "wait=60"))
        await somebody_waits()
        waiting.cancel()
        await asyncio.wait([waiting])
        await until(lambda: not hub()._waiters)

    on_a_loop(story())


def test_a_database_that_is_away_is_said_so_and_nothing_else(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*args: Any) -> Any:
        raise OperationalError("connection refused: 10.0.0.7")

    monkeypatch.setattr(view.readings, "_read", away)
    answer = on_a_loop(read(stage.house.robot, stage.ask(), "wait=1"))
    assert body(answer, 503)["code"] == "unavailable"
    assert int(answer["Retry-After"]) >= 1
    assert b"10.0.0.7" not in answer.content


# -- What has not changed ---------------------------------------------------------------


def test_what_is_known_is_not_sent_again(stage: Stage) -> None:
    request, robot = stage.ask(), stage.house.robot
    first = on_a_loop(read(robot, request))
    tag = first["ETag"]
    for known in (tag, f"W/{tag}", f'"x", {tag}'):
        again = on_a_loop(read(robot, request, If_None_Match=known))
        assert (again.status_code, again.content) == (304, b"")
        assert again["ETag"] == tag
    for other in ('"x"', "", "x", tag.strip('"')):
        assert on_a_loop(read(robot, request, If_None_Match=other)).status_code == 200
    stage.answer(request, **CHANGES)
    changed = on_a_loop(read(robot, request, If_None_Match=tag))
    assert changed.status_code == 200
    assert changed["ETag"] != tag


def test_no_cache_keeps_it_without_asking(stage: Stage) -> None:
    answer = on_a_loop(read(stage.house.robot, stage.ask()))
    assert set(answer["Cache-Control"].split(", ")) == {"private", "no-cache"}


# -- A storm ----------------------------------------------------------------------------


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_caller_may_ask_so_often_and_no_more() -> None:
    clock = Clock()
    pace = Pace(clock=clock)
    most = int(pacing.AT_ONCE)
    assert [pace.delay("a") for _ in range(most)] == [0] * most
    assert pace.delay("a") == pytest.approx(1 / pacing.A_SECOND)
    assert pace.delay("b") == 0
    clock.now = 1.0
    again = [pace.delay("a") for _ in range(int(pacing.A_SECOND) + 1)]
    assert again[:-1] == [0] * (len(again) - 1)
    assert again[-1] > 0
    clock.now = 10_000.0
    assert [pace.delay("a") for _ in range(most + 1)][-2:] == [0, pytest.approx(0.02)]


def test_of_very_many_callers_the_longest_silent_is_forgotten() -> None:
    pace = Pace(clock=Clock())
    for caller in range(pacing.CALLERS + 5):
        pace.delay(caller)
    assert len(pace._left) == pacing.CALLERS
    assert 4 not in pace._left


def test_a_storm_of_polls_is_told_to_wait(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pacing, "AT_ONCE", 3.0)
    monkeypatch.setattr(view, "pace", Pace(clock=Clock()))
    request, house = stage.ask(), stage.house
    other: Machine = fresh_key(house.alice, house.robot.agent)

    async def story() -> list[Any]:
        polls = [await read(house.robot, request) for _ in range(4)]
        return [
            *polls,
            await read(other, request),
            await read(house.robot, request, "wait=1"),
        ]

    answers = on_a_loop(story())
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429, 200, 200]
    storm = answers[3]
    assert body(storm, 429)["code"] == "too_many_requests"
    assert int(storm["Retry-After"]) >= 1


# -- No thread meanwhile ----------------------------------------------------------------


@pytest.mark.parametrize("name", settings.MIDDLEWARE)
def test_every_middleware_lets_a_coroutine_through(name: str) -> None:
    """A single one that cannot would hold a thread for as long as somebody waits."""

    async def view(request: HttpRequest) -> HttpResponse:
        return HttpResponse()

    middleware = import_string(name)
    assert middleware.async_capable
    assert iscoroutinefunction(middleware(view))
