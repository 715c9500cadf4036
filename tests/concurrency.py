"""Running the same thing at the same moment, on connections of their own."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier

from django.db import connection

from tests.approvals.superuser import superuser


def together[T](*acts: Callable[[], T]) -> Sequence[T | Exception]:
    """Start all acts at once; what each returned or raised, in their order."""
    start = Barrier(len(acts))

    def one(act: Callable[[], T]) -> T | Exception:
        start.wait(timeout=30)
        try:
            return act()
        except Exception as error:
            return error
        finally:
            connection.close()

    with ThreadPoolExecutor(max_workers=len(acts)) as pool:
        return list(pool.map(one, acts))


@contextmanager
def impatient() -> Iterator[None]:
    """Locks of others are not waited for long."""
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '50ms'")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("RESET lock_timeout")


@contextmanager
def locked_by_another(table: str, which: str) -> Iterator[None]:
    """Somebody else is at work on one row."""
    with superuser() as other, other.transaction():
        found = other.execute(
            f"SELECT FROM {table} WHERE {which} FOR NO KEY UPDATE".encode()
        )
        assert found.rowcount == 1
        yield


def waiting() -> int:
    """How many locks are waited for now, in all of the installation."""
    with superuser() as eye:
        count = eye.execute(
            "SELECT count(*) FROM pg_locks WHERE NOT granted"
        ).fetchone()
        return int(count[0]) if count else 0
