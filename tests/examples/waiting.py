"""Wait for what must become true, and say what did not."""

import time
from collections.abc import Callable


def wait_until(condition: Callable[[], object], *, seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.01)
