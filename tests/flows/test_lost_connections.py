"""What the server ended while nobody used it is noticed before a request meets it."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import psycopg
import pytest
from django.conf import settings

from config.embedded import postgres
from tests.examples.waiting import wait_until
from tests.factories import fresh_house
from tests.installation import Installation, granian

POOL = 8

OF_WEB = (
    "FROM pg_stat_activity WHERE application_name = 'web' AND query NOT LIKE 'LISTEN%'"
)
OPEN = f"SELECT count(*) {OF_WEB}"
END = f"SELECT count(pg_terminate_backend(pid, 10000)) {OF_WEB}"


def test_no_request_meets_a_connection_that_has_ended(
    installation: Installation,
) -> None:
    with an_agent(installation) as ask, as_superuser() as server:
        fill_the_pool(server, ask)
        assert count(server, END) == POOL
        one_after_another = [ask() for _ in range(2 * POOL)]
    assert one_after_another == [200] * 2 * POOL


def test_nor_does_one_of_many_that_come_at_once(installation: Installation) -> None:
    with an_agent(installation) as ask, as_superuser() as server:
        fill_the_pool(server, ask)
        assert count(server, END) == POOL
        with ThreadPoolExecutor(2 * POOL) as pool:
            at_once = list(pool.map(lambda _: ask(), range(6 * POOL)))
    assert at_once == [200] * 6 * POOL


@pytest.mark.long
def test_nor_does_one_behind_the_server_of_production(
    installation: Installation,
) -> None:
    with installation.without("web"), granian(threads=POOL) as production:
        test_no_request_meets_a_connection_that_has_ended(production)
        test_nor_does_one_of_many_that_come_at_once(production)


@contextmanager
def an_agent(installation: Installation) -> Iterator[Callable[[], int]]:
    """Something that asks, with a key, and tells the status of the answer."""
    key = fresh_house().robot.text
    with httpx.Client(
        base_url=installation.url,
        headers={"Authorization": f"Bearer {key}"},
        timeout=30,
        trust_env=False,
    ) as agent:
        yield lambda: agent.get("/api/v1/sessions").status_code


def fill_the_pool(server: psycopg.Connection, ask: Callable[[], int]) -> None:
    """Hold requests up until all of the pool's connections are open at once."""
    with as_superuser() as holder, ThreadPoolExecutor(POOL) as pool:

        def held() -> bool:
            with holder.transaction():
                holder.execute("LOCK TABLE tenants_apikey IN ACCESS EXCLUSIVE MODE")
                asked = [pool.submit(ask) for _ in range(POOL)]
                wait_until(
                    lambda: count(server, OPEN) == POOL or all(a.done() for a in asked)
                )
            return {each.result() for each in asked} == {200}

        wait_until(lambda: held() and count(server, OPEN) == POOL)


@contextmanager
def as_superuser() -> Iterator[psycopg.Connection]:
    url = postgres.url(settings.DATA_DIR, "postgres", "keyturn")
    with psycopg.connect(url, autocommit=True) as server:
        yield server


def count(server: psycopg.Connection, query: str) -> int:
    ((number,),) = server.execute(query).fetchall()
    return int(number)
