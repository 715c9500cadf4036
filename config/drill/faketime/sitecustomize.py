"""Found by Python itself, on the path of programs whose clock is made wrong.

libfaketime up to 0.9.10 takes its offset also from the absolute times that `time.sleep`
waits for by the monotonic clock, which it leaves alone, so that each sleep fails.
"""

import select
import time
from typing import SupportsIndex


def _sleep(seconds: float | SupportsIndex, /) -> None:
    select.select([], [], [], max(0.0, float(seconds)))


time.sleep = _sleep
