"""Whose turn it is to ask a provider: of each, one thread of a process at most.

A provider takes its time as it likes, whoever keeps it is not who waits, and a process has
few threads. What waits for one provider waits shortly, and only while that one is quick:
so a slow one never holds the threads by which everybody else is answered.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition
from typing import Final

from kernel.problems import declare

PATIENCE: Final = 1.0  # seconds that a turn may last before nobody waits for it

BUSY: Final = declare(
    "sso.busy", status=503, title="The provider is slow, and others wait for it"
)

_free: Final = Condition()
_began: Final[dict[str, float]] = {}  # who is being asked, and since when


@contextmanager
def turn(*names: str) -> Iterator[None]:
    """Ask in the name of all of these, once nobody else does. Raises `sso.busy` (503)."""
    with _free:
        end = time.monotonic() + PATIENCE
        while held := [_began[name] for name in names if name in _began]:
            left = min(end, min(held) + PATIENCE) - time.monotonic()
            if left <= 0:
                raise BUSY("Wait a moment, and begin again.")
            _free.wait(left)
        _began.update(dict.fromkeys(names, time.monotonic()))
    try:
        yield
    finally:
        with _free:
            for name in names:
                del _began[name]
            _free.notify_all()
