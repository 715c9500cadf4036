"""What a web process has loaded is there before the first request."""

import subprocess
import sys

import pytest
from django.conf import settings

LOADED = """
import gc, sys
import config.{door}
print(gc.get_freeze_count(), "approvals.views.decide" in sys.modules)
"""


@pytest.mark.parametrize("door", ["asgi", "wsgi"])
def test_views_are_loaded_and_passed_over_by_the_collector(door: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED.format(door=door)],
        capture_output=True,
        check=True,
        cwd=settings.BASE_DIR,
        text=True,
    )
    frozen, loaded = done.stdout.split()[-2:]
    assert int(frozen) > 100_000
    assert loaded == "True"
