"""A file that is written while it is sent: no more of it is in memory than a pipe holds."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from typing import IO, Final

from kernel.offload import offload

CHUNK: Final = 64 * 1024  # bytes


async def piped(write: Callable[[IO[bytes]], None]) -> AsyncIterator[bytes]:
    """What `write` writes, as it comes. It runs in a thread, with its own connection.

    A reader that is slow makes the writer wait; one that leaves makes it fail, so that
    its transaction ends.
    """
    inner, outer = os.pipe()
    writing = asyncio.ensure_future(offload(_write, write, outer))
    try:
        with os.fdopen(inner, "rb", buffering=0) as source:
            while chunk := await asyncio.to_thread(source.read, CHUNK):
                yield chunk
        await writing
    finally:
        writing.cancel()


def _write(write: Callable[[IO[bytes]], None], outer: int) -> None:
    with os.fdopen(outer, "wb", buffering=CHUNK) as out:
        write(out)
