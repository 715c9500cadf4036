"""Programs with a wrong clock: wrong by the wall, right by the monotonic one."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from config.drill.programs import wrong_clock

PLACES = ("/usr/lib", "/usr/local/lib", "/opt/homebrew/lib")
LOOK = "import json, time; print(json.dumps([time.time(), time.monotonic()]))"


def is_installed() -> bool:
    """Found in another way than the drill finds it."""
    return any(
        name.startswith("libfaketime")
        for place in PLACES
        for _, _, names in os.walk(Path(place))
        for name in names
    )


@pytest.mark.parametrize("seconds", [600, -600])
def test_where_libfaketime_is_installed_no_drill_is_skipped(seconds: int) -> None:
    if not is_installed():
        pytest.skip("libfaketime is not installed: apt-get install libfaketime")
    wrong = wrong_clock(seconds)
    assert wrong is not None, "it is there, and the drill does not find it"
    look = subprocess.run(
        [sys.executable, "-c", LOOK],
        env={**os.environ, **wrong},
        capture_output=True,
        text=True,
        check=True,
    )
    wall, monotonic = json.loads(look.stdout)
    assert abs(wall - time.time() - seconds) < 60
    assert 0 <= time.monotonic() - monotonic < 60
