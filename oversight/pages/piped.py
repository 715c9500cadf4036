"""A file that is written while it is sent: no more of it is in memory than a pipe holds."""

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import IO, Final

from django.db import connection

CHUNK: Final = 64 * 1024  # bytes
WRITERS: Final = 4  # files of a process that are written at once; others wait for them
PATIENCE: Final = 60.0  # seconds that a reader may take for one chunk

# Of their own: whoever reads slowly must not take the threads that everybody waits for.
_writers: Final = ThreadPoolExecutor(WRITERS, "piped")


async def piped(write: Callable[[IO[bytes]], None]) -> AsyncGenerator[bytes]:
    """What `write` writes, as it comes. It runs in a thread, with its own connection.

    A reader that is slow makes the writer wait; one that leaves, or takes nothing for
    `PATIENCE`, makes it fail, so that its transaction ends. Raises `TimeoutError` for
    the latter, and what `write` raises: the file is never taken for a whole one.
    """
    inner, outer = os.pipe()
    writing = _writers.submit(_write, write, outer)
    try:
        async with _reading(inner) as (source, end):
            while chunk := await source.read(CHUNK):
                late = _close_later(end)
                yield chunk
                _require_in_time(late)
        await asyncio.wrap_future(writing)
    finally:
        _let_go(writing, outer)


def _write(write: Callable[[IO[bytes]], None], outer: int) -> None:
    try:
        with os.fdopen(outer, "wb", buffering=CHUNK) as out:
            write(out)
    finally:
        connection.close()


@asynccontextmanager
async def _reading(
    inner: int,
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.BaseTransport]]:
    """The pipe's other end, which holds no thread while nothing comes."""
    source = asyncio.StreamReader(CHUNK)
    end, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(source),
        os.fdopen(inner, "rb", buffering=0),
    )
    try:
        yield source, end
    finally:
        end.close()


def _close_later(end: asyncio.BaseTransport) -> asyncio.TimerHandle:
    """The writer notices when nobody could read what it writes any more."""
    return asyncio.get_running_loop().call_later(PATIENCE, end.close)


def _require_in_time(late: asyncio.TimerHandle) -> None:
    """What was in the pipe when it was closed is lost, whoever comes back for it."""
    if asyncio.get_running_loop().time() >= late.when():
        raise TimeoutError("nobody took what was sent")
    late.cancel()


def _let_go(writing: Future[None], outer: int) -> None:
    """A writer that has not begun never will, and leaves its end of the pipe to us."""
    if writing.cancel():
        os.close(outer)
