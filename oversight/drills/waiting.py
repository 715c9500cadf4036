"""Waiting for what must become true, and failing with the words for what did not."""

import time
from collections.abc import Callable
from typing import Final

TICK: Final = 0.02  # seconds


class Failed(AssertionError):
    """What was promised did not hold. The message says what, for the report."""


def wait_until(
    what: str, condition: Callable[[], object], *, seconds: float = 30.0
) -> float:
    """Wait; return how many seconds it took. Raises `Failed` after `seconds`."""
    began = time.monotonic()
    while not condition():
        if time.monotonic() - began > seconds:
            raise Failed(f"{what}: not within {seconds:g} s")
        time.sleep(TICK)
    return time.monotonic() - began
