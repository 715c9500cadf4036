"""What is waited for is noticed: by notification, or at the next look at the rows."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from approvals.models import Request, ResumeJob
from approvals.queries import versions
from approvals.resume.work import work
from approvals.services.redeem import redeem
from approvals.services.report import report_effect
from approvals.services.revise import withdraw
from approvals.wait import hub as hub_module
from approvals.wait.hub import Hub
from kernel.scope import tenant_transaction
from tests.approvals.stage import Stage, fresh_stage
from tests.approvals.superuser import superuser
from tests.approvals.wait.asynchronous import beside, on_a_loop, until

NEVER = 3600.0  # seconds between looks: only notifications count
OFTEN = 0.2


@pytest.fixture(scope="module")
def stage() -> Stage:
    return fresh_stage()


def topic(request: Request) -> str:
    return f"{request.tenant_id}:{request.id}"


def decided(stage: Stage, request: Request) -> Callable[[], object]:
    return lambda: stage.answer(request)


def changed_silently(request: Request) -> None:
    """The row is written, and nobody is notified."""
    with superuser() as admin:
        admin.execute(
            "UPDATE approvals_request SET resolution = 'x' WHERE id = %s", [request.id]
        )


def listeners() -> list[int]:
    with superuser() as admin:
        found = admin.execute(
            "SELECT pid FROM pg_stat_activity WHERE query LIKE 'LISTEN %'"
        )
        return [pid for (pid,) in found]


async def listening() -> None:
    while not await beside(listeners):
        await asyncio.sleep(0.01)


def test_a_notification_wakes_those_who_wait_for_its_id_and_no_one_else(
    stage: Stage,
) -> None:
    request, other = stage.ask(), stage.ask()

    async def story() -> None:
        hub = Hub(look_again=NEVER)
        async with (
            hub.waiting(topic(request)) as news,
            hub.waiting(topic(other)) as none,
        ):
            await listening()
            await beside(decided(stage, request))
            await news.wait()
            assert news.take() == {topic(request)}
            assert not none.is_set()

    on_a_loop(story())


def test_a_lost_notification_costs_the_seconds_until_the_next_look(
    stage: Stage,
) -> None:
    request, other = stage.ask(), stage.ask()

    async def story() -> None:
        hub = Hub(look_again=OFTEN)
        async with (
            hub.waiting(topic(request)) as news,
            hub.waiting(topic(other)) as none,
        ):
            await listening()
            await beside(lambda: changed_silently(request))
            await news.wait()
            assert news.take() == {topic(request)}
            assert not none.is_set()

    on_a_loop(story())


def test_while_nothing_changes_looks_wake_nobody(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    request, looks = stage.ask(), []

    def counted(ids: list[UUID]) -> dict[UUID, str]:
        looks.append(ids)
        return versions(ids)

    monkeypatch.setattr(hub_module, "versions", counted)

    async def story() -> None:
        hub = Hub(look_again=OFTEN)
        async with hub.waiting(topic(request)) as news:
            await until(lambda: len(looks) > 5)
            assert not news.is_set()

    on_a_loop(story())


def test_a_look_is_one_query_for_each_tenant_however_many_wait(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = fresh_stage()
    requests = [*(stage.ask() for _ in range(3)), elsewhere.ask(), elsewhere.ask()]
    looks: list[set[UUID]] = []

    def counted(ids: list[UUID]) -> dict[UUID, str]:
        looks.append(set(ids))
        return versions(ids)

    async def story() -> None:
        hub = Hub(look_again=NEVER)
        async with AsyncExitStack() as waiting:
            for request in requests * 20:
                await waiting.enter_async_context(hub.waiting(topic(request)))
            await listening()
            monkeypatch.setattr(hub_module, "versions", counted)
            await hub._look(list(hub._waiters))

    on_a_loop(story())
    # The hub may have looked by itself as well, once its connection listened.
    assert {frozenset(look) for look in looks} == {
        frozenset(one.id for one in requests[3:]),
        frozenset(one.id for one in requests[:3]),
    }


async def waits(hub: Hub, request: Request) -> None:
    async with hub.waiting(topic(request)) as news:
        await news.wait()


def test_after_a_lost_connection_everything_is_looked_at_again(stage: Stage) -> None:
    request = stage.ask()

    async def story() -> None:
        hub = Hub(look_again=NEVER)
        async with hub.waiting(topic(request)) as news:
            await listening()
            (pid,) = await beside(listeners)
            await beside(lambda: end(pid))
            await beside(lambda: changed_silently(request))
            await news.wait()
            await listening()
            assert await beside(listeners) != [pid]
            news.take()
            await beside(decided(stage, request))
            await news.wait()

    on_a_loop(story())


def end(pid: int) -> None:
    with superuser() as admin:
        admin.execute("SELECT pg_terminate_backend(%s)", [pid])


def test_what_changes_while_one_registers_is_noticed(stage: Stage) -> None:
    """Before the hub listens at all, its first look tells."""
    request = stage.ask()

    async def story() -> None:
        hub = Hub(look_again=NEVER)
        async with hub.waiting(topic(request)) as news:
            await beside(lambda: changed_silently(request))
            await hub._look([topic(request)])
            assert news.take() == {topic(request)}

    on_a_loop(story())


def test_whoever_goes_is_forgotten(stage: Stage) -> None:
    request = stage.ask()

    async def story() -> None:
        hub = Hub(look_again=NEVER)
        gone = asyncio.create_task(waits(hub, request))
        await until(lambda: hub._versions)
        gone.cancel()
        await asyncio.wait([gone])
        assert not hub._waiters
        assert not hub._versions

    on_a_loop(story())


# -- Versions ---------------------------------------------------------------------------


def steps(stage: Stage, request: Request) -> Iterator[Callable[[], object]]:
    """All that can happen to a request of an agent's tool, in order."""
    who = stage.house.robot.principal
    yield lambda: stage.answer(request)
    with tenant_transaction(stage.tenant_id):
        job = ResumeJob.objects.get(request=request)
    yield lambda: work(job.id)
    found: list[Any] = []
    yield lambda: found.append(
        redeem(who, request_id=request.id, fence=request.run.fence)
    )
    yield lambda: report_effect(
        who,
        effect_id=found[0].effect.id,
        attempt=1,
        fence=request.run.fence,
        outcome="confirmed",
        external_id="P-1",
    )


def version(stage: Stage, id: UUID) -> str | None:
    with tenant_transaction(stage.tenant_id):
        return versions([id]).get(id)


def test_every_step_of_a_request_gives_it_another_version(stage: Stage) -> None:
    request = stage.ask()
    seen = [version(stage, request.id)]
    for step in steps(stage, request):
        assert version(stage, request.id) == seen[-1]
        step()
        seen.append(version(stage, request.id))
    assert len(set(seen)) == len(seen) == 5


def test_runs_and_queues_have_versions_too(stage: Stage) -> None:
    queue, run = stage.queue.id, stage.run()
    quiet = version(stage, queue), version(stage, run.id)
    request = stage.ask(run)
    asked = version(stage, queue), version(stage, run.id)
    withdraw(stage.house.robot.principal, request_id=request.id, reason="not wanted")
    after = version(stage, queue), version(stage, run.id)
    assert len({quiet[0], asked[0], after[0]}) == 3 or quiet[0] == after[0] != asked[0]
    assert len({quiet[1], asked[1], after[1]}) >= 2


def test_another_tenants_rows_have_no_version(stage: Stage) -> None:
    request = stage.ask()
    ids = [request.id, request.run_id, stage.queue.id]
    with tenant_transaction(fresh_stage().tenant_id):
        assert versions(ids) == {}
    assert versions(ids) == {}
    connection.close()
