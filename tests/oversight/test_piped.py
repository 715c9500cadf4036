"""Files that are written while they are sent, however slowly somebody reads them."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import IO, Any

import pytest

from oversight.pages import piped as pipes
from oversight.pages.piped import WRITERS, piped

WHOLE = b"entry\n" * 100_000  # more than a pipe holds
WAIT = 20.0  # seconds, for what comes at once


def in_one_thread(work: Callable[[], Any]) -> Any:
    """Run a coroutine in a process that has a single thread for all who wait."""

    async def run() -> Any:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
        return await asyncio.wait_for(work(), WAIT)

    return asyncio.run(run())


def whole(out: IO[bytes]) -> None:
    out.write(WHOLE)


def test_any_number_is_read_at_once_with_a_single_thread() -> None:
    async def taken() -> bytes:
        return b"".join([chunk async for chunk in piped(whole)])

    async def work() -> list[bytes]:
        return await asyncio.gather(*(taken() for _ in range(2 * WRITERS + 1)))

    assert set(in_one_thread(work)) == {WHOLE}


def test_who_reads_slowly_keeps_no_thread_from_the_others() -> None:
    async def work() -> str:
        files = [piped(whole) for _ in range(WRITERS)]
        for one in files:
            assert await anext(one)
        answer = await asyncio.to_thread(str, "others")
        for one in files:
            await one.aclose()
        return answer

    assert in_one_thread(work) == "others"


def test_who_reads_no_more_is_given_up_and_gets_no_whole_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given_up = Event()

    def write(out: IO[bytes]) -> None:
        try:
            whole(out)
        except BrokenPipeError:
            given_up.set()
            raise

    async def work() -> None:
        file = piped(write)
        assert await anext(file)
        assert await asyncio.to_thread(given_up.wait, WAIT)
        with pytest.raises(TimeoutError):
            await anext(file)

    monkeypatch.setattr(pipes, "PATIENCE", 0.01)
    in_one_thread(work)


def test_what_never_began_is_not_written() -> None:
    begun = Event()

    async def work() -> None:
        before = [piped(whole) for _ in range(WRITERS)]
        for one in before:
            assert await anext(one)
        waiting = piped(lambda out: begun.set())
        reading = asyncio.ensure_future(anext(waiting))
        await asyncio.sleep(0)
        reading.cancel()
        await asyncio.wait([reading])
        for one in before:
            await one.aclose()
        assert b"".join([chunk async for chunk in piped(whole)]) == WHOLE

    in_one_thread(work)
    assert not begun.is_set()


def test_a_file_that_cannot_be_finished_says_so() -> None:
    def write(out: IO[bytes]) -> None:
        whole(out)
        raise LookupError("its end")

    async def work() -> None:
        with pytest.raises(LookupError, match="its end"):
            async for _ in piped(write):
                pass

    in_one_thread(work)
