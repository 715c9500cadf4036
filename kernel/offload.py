"""Database work for coroutines: a thread and a connection for moments, never for a wait.

Django's own `sync_to_async` keeps one thread per request, and that thread its
connection, until the request ends. A request that waits a minute must not hold either.
"""

from collections.abc import Callable

from asgiref.sync import sync_to_async
from django.db import connection


async def offload[**P, T](work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `work` in a thread of the process's pool, and give its connection back."""

    def run() -> T:
        try:
            return work(*args, **kwargs)
        finally:
            connection.close()

    return await sync_to_async(run, thread_sensitive=False)()
