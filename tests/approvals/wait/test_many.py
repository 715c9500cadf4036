"""Many agents wait on one web process, a real one."""

import asyncio
import json
import os
import resource
import time
from collections.abc import Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

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
CALM = 7  # looks, a quarter of a second apart, in which nothing moves
IDLE = 0.05  # seconds of work between two looks
PATIENCE = 120.0  # seconds until all have to be let in; the thread ends by itself

ACTIVITY = """
SELECT pid, state, query, extract(epoch FROM state_change)
FROM pg_stat_activity WHERE application_name = 'web'
"""


@pytest.fixture(scope="module")
def web(django_db_setup: None) -> Iterator[Installation]:
    """Its web process inherits how many files, and so connections, may be open."""
    before, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    try:
        with running_installation("web") as running:
            yield running
    finally:
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
        assert await beside(lambda: everybody_waits(web, many)) <= THREADS
        await beside(lambda: check_quiet(web))
        first, others = requests[0], requests[1:]

        await beside(lambda: stage.answer(first))
        await until(lambda: all(task.done() for task in waiting[first.id]))
        assert not any(task.done() for one in others for task in waiting[one.id])

        await beside(end_listening)
        for request in others:
            await beside(lambda request=request: stage.answer(request))  # type: ignore[misc]
        for tasks in waiting.values():
            for status, document in await asyncio.gather(*tasks):
                assert (status, document["status"]) == (200, "approved")


@asynccontextmanager
async def crowd(
    web: Installation, stage: Stage, requests: list[Request], many: int
) -> Any:
    """Waiters for each request, by its id."""
    keys = await beside(lambda: fresh_keys(stage, 1 + many // A_KEY))

    def wait(request: Request, number: int) -> asyncio.Task[Answer]:
        path = f"/api/v1/approvals/{request.id}?wait=60&until=decided"
        return asyncio.create_task(asked(web.url, path, keys[number % len(keys)]))

    waiting = {
        request.id: [wait(request, n) for n in range(many // REQUESTS)]
        for request in requests
    }
    try:
        yield waiting
    finally:
        for task in (task for tasks in waiting.values() for task in tasks):
            task.cancel()


type Answer = tuple[int, dict[str, Any]]


async def asked(url: str, path: str, key: str) -> Answer:
    """One request on a connection of its own; a client would cost more than it asks."""
    where = urlsplit(url)
    reader, writer = await asyncio.open_connection(where.hostname, where.port)
    head = (
        f"GET {path} HTTP/1.1",
        f"Host: {where.netloc}",
        f"Authorization: Bearer {key}",
    )
    writer.write("\r\n".join((*head, "Connection: close", "", "")).encode())
    try:
        said, _, body = (await reader.read()).partition(b"\r\n\r\n")
    finally:
        writer.close()
    return int(said.split()[1]), json.loads(body)


def fresh_keys(stage: Stage, many: int) -> list[str]:
    alice, robot = stage.house.alice, stage.house.robot
    return [fresh_key(alice, robot.agent).text for _ in range(many)]


def everybody_waits(web: Installation, many: int) -> int:
    """All are let in and looked after, and nothing is read any more; the most threads
    that this took. Watched from beside the loop, which has its hands full."""
    seen: set[Any] = set()
    most = calm = 0
    spent = worked(web)
    ends = time.monotonic() + PATIENCE
    while calm < CALM:
        assert time.monotonic() < ends, (
            f"{sockets(web)} sockets, {threads(web)} threads"
        )
        rows = set(activity())
        busy = {state for _, state, _, _ in rows} != {"idle"}
        held = threads(web)
        most = max(most, held)
        coming = sockets(web) < many // REQUESTS * REQUESTS or held > THREADS
        begun = any("LISTEN" in query for _, _, query, _ in rows)
        # It has let them in, and may still have to look what each of them asks for.
        spent, before = worked(web), spent
        busy |= spent - before > IDLE
        calm = 0 if rows != seen or busy or coming or not begun else calm + 1
        seen = rows
        time.sleep(0.25)
    return most


def worked(web: Installation) -> float:
    """Seconds of a processor that the web process has had so far."""
    said = Path(f"/proc/{web.processes.pid('web')}/stat").read_text()
    fields = said.rpartition(")")[2].split()  # from the third field of proc(5) on
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def sockets(web: Installation) -> int:
    """How many the web process has open: a connection counts once it was let in."""
    found = 0
    for one in Path(f"/proc/{web.processes.pid('web')}/fd").iterdir():
        with suppress(FileNotFoundError):
            found += str(one.readlink()).startswith("socket:")
    return found


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
