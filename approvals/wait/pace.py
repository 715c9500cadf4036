"""How often one caller may ask without waiting: a bucket that refills by itself.

Counted in this process alone, and before anything is read: a storm of polls costs
neither a query nor a thread. Whoever waits (`wait=N`) is not counted.
"""

from collections import OrderedDict
from collections.abc import Callable
from time import monotonic
from typing import Final

A_SECOND: Final = 50.0
AT_ONCE: Final = 500.0
CALLERS: Final = 10_000
"""More are not remembered: the one that was silent longest is forgotten first."""


class Pace:
    """For each caller, how many requests are left and when that was."""

    def __init__(self, *, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._left: OrderedDict[object, tuple[float, float]] = OrderedDict()

    def delay(self, caller: object) -> float:
        """Count a request; how many seconds too early it came, 0 if it may pass."""
        now = self._clock()
        left, at = self._left.pop(caller, (AT_ONCE, now))
        left = min(AT_ONCE, left + (now - at) * A_SECOND)
        late = max(0.0, (1 - left) / A_SECOND)
        self._left[caller] = (left if late else left - 1, now)
        if len(self._left) > CALLERS:
            self._left.popitem(last=False)
        return late
