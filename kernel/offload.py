"""Database work for coroutines: a thread and a connection for moments, never for a wait.

Django's own `sync_to_async` keeps one thread per request, and that thread its
connection, until the request ends. A request that waits a minute must not hold either.
"""

from collections.abc import Callable

from asgiref.sync import SyncToAsync, sync_to_async
from django.db import connection, connections


async def offload[**P, T](work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `work` in a thread of the process's pool, and give its connection back."""

    def run() -> T:
        try:
            return work(*args, **kwargs)
        finally:
            connection.close()

    return await sync_to_async(run, thread_sensitive=False)()


def release_thread() -> None:
    """Before a long wait: give up the thread that this request was given.

    Django's handler runs signals and middleware on a thread of the request's own, and
    keeps it until the answer is sent. Whatever needs one later is given another.
    """
    context = SyncToAsync.thread_sensitive_context.get(None)
    if context is None:
        return
    executor = SyncToAsync.context_to_thread_executor.pop(context, None)
    if executor is not None:
        executor.submit(connections.close_all)
        executor.shutdown(wait=False)
