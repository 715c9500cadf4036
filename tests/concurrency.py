"""Running the same thing at the same moment, on connections of their own."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from django.db import connection


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
