"""Many agents wait on one web process, a real one."""

import asyncio
import json
import os
import resource
import time
from collections.abc import Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from itertools import cycle
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from django.conf import settings

from approvals.models import Request
from tests.approvals.stage import Stage, fresh_stage
from tests.approvals.superuser import superuser
from tests.approvals.wait.asynchronous import beside, until
from tests.factories import fresh_key
from tests.installation import Installation, running_installation

LOOK_AGAIN = 5.0  # seconds
OF_A_KIND = 250  # of many that wait, so many wait for the same; and have the same key
LEAST = 6
QUIET = 5.5  # seconds that are watched
THREADS = 24  # those of the pool and the event loop, never one for each that waits
CALM = 7  # looks, a quarter of a second apart, in which nothing moves
IDLE = 0.05  # seconds of work between two looks
PATIENCE = 50.0  # seconds until all have to be let in, before the first may leave
# Seconds of work that letting one in may cost: of 5,000, a third of a minute.
DEAR = 0.004
SENT = "[web] LOG:  statement: "
# In its middle a text of many lines.
A_LOOK = ["BEGIN", "SELECT set_config", "", "COMMIT"]
LOGGED = (
    "ALTER SYSTEM SET log_line_prefix = '[%a] '",
    "ALTER ROLE keyturn_app SET log_statement = 'all'",
)

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
        with every_statement_logged(), running_installation("web") as running:
            yield running
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (before, most))


@contextmanager
def every_statement_logged() -> Iterator[None]:
    """In PostgreSQL's own log, with the name of who sent it."""
    with superuser() as admin:
        for setting in LOGGED:
            admin.execute(setting)
        admin.execute("SELECT pg_reload_conf()")
    try:
        yield
    finally:
        with superuser() as admin:
            for setting in LOGGED:
                what, _, _ = setting.replace(" SET ", " RESET ").partition(" =")
                admin.execute(what)
            admin.execute("SELECT pg_reload_conf()")


@pytest.mark.parametrize(
    "many", [48, *(pytest.param(n, marks=pytest.mark.long) for n in (300, 5_000))]
)
def test_those_who_wait_cost_next_to_nothing(web: Installation, many: int) -> None:
    stage = fresh_stage()
    requests = [stage.ask() for _ in range(max(LEAST, many // OF_A_KIND))]
    asyncio.run(asyncio.wait_for(story(web, stage, requests, many), timeout=180))


async def story(
    web: Installation, stage: Stage, requests: list[Request], many: int
) -> None:
    amid, first, *others = requests
    spent = worked(web)
    async with crowd(web, stage, requests, many) as waiting:
        # While some have read it, some listen already, and some have yet to come.
        await beside(lambda: stage.answer(amid))
        stay = sum(len(tasks) for tasks in waiting.values()) - len(waiting[amid.id])
        assert await beside(lambda: everybody_waits(web, stay)) <= THREADS
        spent = (worked(web) - spent) / many
        # For whoever measures.
        print(f"{many} were let in for {spent * 1000:.2f} ms each")
        assert spent < DEAR or many < 1_000
        await until(lambda: all(task.done() for task in waiting[amid.id]))
        await beside(lambda: check_quiet(web))

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
    keys = await beside(lambda: fresh_keys(stage, max(1, many // OF_A_KIND)))

    key = cycle(keys)

    def wait(request: Request) -> asyncio.Task[Answer]:
        path = f"/api/v1/approvals/{request.id}?wait=60&until=decided"
        return asyncio.create_task(asked(web.url, path, next(key)))

    waiting = {
        request.id: [wait(request) for _ in range(many // len(requests))]
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
        said, _, body = (await reader.read()).partition(b"\r\n\r\n")  # all there is
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
    spent = begun = worked(web)
    ends = time.monotonic() + PATIENCE
    while calm < CALM:
        assert time.monotonic() < ends, (
            f"{sockets(web)} sockets, {threads(web)} threads; of {PATIENCE:.0f} s the web"
            f" process was given a processor for {worked(web) - begun:.1f}"
        )
        rows = set(activity())
        busy = {state for _, state, _, _ in rows} != {"idle"}
        held = threads(web)
        most = max(most, held)
        coming = sockets(web) < many or held > THREADS
        listens = any("LISTEN" in query for _, _, query, _ in rows)
        # It has let them in, and may still have to look what each of them asks for.
        spent, before = worked(web), spent
        busy |= spent - before > IDLE
        calm = 0 if rows != seen or busy or coming or not listens else calm + 1
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
    """One connection listens, and nobody who waits has anything asked: all that is sent
    is one look of the process every five seconds."""
    held: list[bool] = []
    with superuser() as admin, database_log().open() as log:
        log.seek(0, os.SEEK_END)
        ends = time.monotonic() + QUIET
        while time.monotonic() < ends:
            rows = activity(admin)
            held.append(any(state != "idle" for _, state, _, _ in rows))
            time.sleep(0.05)
        said = [line.partition(SENT) for line in log]
    sent = [what.partition("(")[0].strip() for _, begins, what in said if begins]
    assert [query for _, _, query, _ in rows if "LISTEN" in query] == ["LISTEN keyturn"]
    assert sum(held) < len(held) / 10, rows
    assert sent in [A_LOOK * looks for looks in range(1, int(QUIET / LOOK_AGAIN) + 2)]
    assert threads(web) <= THREADS


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


def database_log() -> Path:
    return settings.DATA_DIR / "logs" / "postgres.log"


def end_listening() -> None:
    """Cut the one connection that listens."""
    with superuser() as admin:
        admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = 'web' AND query LIKE 'LISTEN%'"
        )
