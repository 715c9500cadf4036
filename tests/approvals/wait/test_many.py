"""Many agents wait on one web process, a real one."""

import asyncio
import resource
import time
from collections.abc import Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from approvals.models import Request
from tests.approvals.stage import Stage, fresh_stage
from tests.approvals.superuser import superuser
from tests.approvals.wait.asynchronous import beside, until
from tests.factories import fresh_key
from tests.installation import Installation, running_installation

REQUESTS = 6
LOOK_AGAIN = 5.0  # seconds
A_KEY = 250  # waiters for each key, which may hold twice as many
QUIET = 5.5  # seconds that are watched
THREADS = 24  # those of the pool and the event loop, never one for each that waits

ACTIVITY = """
SELECT pid, state, query, extract(epoch FROM state_change)
FROM pg_stat_activity WHERE application_name = 'web'
"""


@pytest.fixture(scope="module")
def web(django_db_setup: None) -> Iterator[Installation]:
    """Its web process inherits how many files, and so connections, may be open."""
    before, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with running_installation("web") as running:
        yield running
    resource.setrlimit(resource.RLIMIT_NOFILE, (before, most))


@pytest.mark.parametrize(
    "many", [48, *(pytest.param(n, marks=pytest.mark.long) for n in (300, 5_000))]
)
def test_those_who_wait_cost_next_to_nothing(web: Installation, many: int) -> None:
    stage = fresh_stage()
    requests = [stage.ask() for _ in range(REQUESTS)]
    asyncio.run(asyncio.wait_for(story(web, stage, requests, many), timeout=180))


async def story(
    web: Installation, stage: Stage, requests: list[Request], many: int
) -> None:
    async with crowd(web, stage, requests, many) as waiting:
        await everybody_waits(web, many)
        await beside(lambda: check_quiet(web))
        first, others = requests[0], requests[1:]

        await beside(lambda: stage.answer(first))
        await until(lambda: all(task.done() for task in waiting[first.id]))
        assert not any(task.done() for one in others for task in waiting[one.id])

        await beside(end_listening)
        for request in others:
            await beside(lambda request=request: stage.answer(request))  # type: ignore[misc]
        for tasks in waiting.values():
            for answer in await asyncio.gather(*tasks):
                assert (answer.status_code, answer.json()["status"]) == (
                    200,
                    "approved",
                )


@asynccontextmanager
async def crowd(
    web: Installation, stage: Stage, requests: list[Request], many: int
) -> Any:
    """Waiters for each request, by its id."""
    limits = httpx.Limits(max_connections=many)
    keys = await beside(lambda: fresh_keys(stage, 1 + many // A_KEY))
    async with httpx.AsyncClient(
        base_url=web.url, limits=limits, timeout=120, trust_env=False
    ) as client:

        def wait(request: Request, number: int) -> asyncio.Task[httpx.Response]:
            url = f"/api/v1/approvals/{request.id}?wait=60&until=decided"
            headers = {"Authorization": f"Bearer {keys[number % len(keys)]}"}
            return asyncio.create_task(client.get(url, headers=headers))

        yield {
            request.id: [wait(request, n) for n in range(many // REQUESTS)]
            for request in requests
        }


def fresh_keys(stage: Stage, many: int) -> list[str]:
    alice, robot = stage.house.alice, stage.house.robot
    return [fresh_key(alice, robot.agent).text for _ in range(many)]


async def everybody_waits(web: Installation, many: int) -> None:
    """All are connected, all gave their thread back, and nothing is read any more."""
    quiet_since = time.monotonic()
    seen: set[Any] = set()
    while time.monotonic() - quiet_since < 1.5:
        rows = set(await beside(activity))
        busy = {state for _, state, _, _ in rows} != {"idle"}
        coming = (
            connections(web) < many // REQUESTS * REQUESTS or threads(web) > THREADS
        )
        if rows != seen or busy or coming:
            seen, quiet_since = rows, time.monotonic()
        await asyncio.sleep(0.25)


def connections(web: Installation) -> int:
    """How many are connected to the web process, from the kernel's own table."""
    port = f":{int(web.url.rpartition(':')[2]):04X}"
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    return sum(
        line.split()[1].endswith(port) and line.split()[3] == "01" for line in lines
    )


def check_quiet(web: Installation) -> None:
    """One connection listens; all others rest but for one look every five seconds."""
    seen: dict[float, int] = {}
    held: list[bool] = []
    with superuser() as admin:
        before = {row[3] for row in activity(admin)}
        ends = time.monotonic() + QUIET
        while time.monotonic() < ends:
            rows = activity(admin)
            seen |= {at: pid for pid, _, _, at in rows if at not in before}
            held.append(any(state != "idle" for _, state, _, _ in rows))
            time.sleep(0.05)
    assert [query for _, _, query, _ in rows if "LISTEN" in query] == ["LISTEN keyturn"]
    assert sum(held) < len(held) / 10, rows
    looks = bursts(sorted(seen))
    assert 1 <= len(looks) <= QUIET // LOOK_AGAIN + 1, looks
    assert all(len({seen[at] for at in look}) == 1 for look in looks)
    assert threads(web) <= THREADS


def bursts(times: list[float]) -> list[list[float]]:
    """Times that lie close together."""
    found: list[list[float]] = []
    for at in times:
        if found and at - found[-1][-1] < 1.0:
            found[-1].append(at)
        else:
            found.append([at])
    return found


def activity(
    admin: psycopg.Connection | None = None,
) -> list[tuple[int, str, str, float]]:
    """(process, state, last query, since when) of the web process's connections."""
    if admin is None:
        with superuser() as admin:
            return activity(admin)
    return [
        (pid, state, query, float(at))
        for pid, state, query, at in admin.execute(ACTIVITY).fetchall()
    ]


def threads(web: Installation) -> int:
    pid = web.processes.pid("web")
    status = Path(f"/proc/{pid}/status").read_text()
    (line,) = (one for one in status.splitlines() if one.startswith("Threads:"))
    return int(line.split()[1])


def end_listening() -> None:
    """Cut the one connection that listens."""
    with superuser() as admin:
        admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = 'web' AND query LIKE 'LISTEN%'"
        )
