"""Waiting for what other processes do."""

import time
from collections.abc import Callable
from typing import Final

import httpx

_TICK: Final = 0.1  # seconds between two looks


class TooLate(Exception):
    """Something did not become so in time; the message says what."""


def wait_for[T](look: Callable[[], T | None], *, seconds: float, what: str) -> T:
    """Look until there is something, and return it. Raises `TooLate`.

    A server that does not answer may be starting again: that is no reason to give up.
    """
    deadline = time.monotonic() + seconds
    while (found := _looked(look)) is None:
        if time.monotonic() > deadline:
            raise TooLate(f"{what}: not within {seconds:.0f} s")
        time.sleep(_TICK)
    return found


def wait_until_up(url: str, *, seconds: float = 60.0) -> None:
    """Wait until a GET of `url` is answered well. Raises `TooLate`."""

    def look() -> bool | None:
        return httpx.get(url, trust_env=False, timeout=10).is_success or None

    wait_for(look, seconds=seconds, what=f"{url} answers")


def _looked[T](look: Callable[[], T | None]) -> T | None:
    try:
        return look()
    except httpx.TransportError:
        return None
