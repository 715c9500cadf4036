"""The package brings httpx and nothing of the server."""

import subprocess
import sys

FORBIDDEN = {"django", "kernel", "sessions", "approvals", "config", "mcp"}


def test_it_loads_neither_django_nor_a_room_of_the_server(tmp_path: object) -> None:
    script = (
        "import sys, keyturn, keyturn.testing, keyturn.webhooks, keyturn.cli;"
        "print(*sorted({name.split('.')[0] for name in sys.modules}))"
    )
    loaded = subprocess.check_output(
        [sys.executable, "-c", script], cwd=str(tmp_path), text=True
    ).split()
    assert "keyturn" in loaded
    assert not set(loaded) & FORBIDDEN
