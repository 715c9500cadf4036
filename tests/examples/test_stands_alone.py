"""The agent is a client: it can be copied out of this repository and still run."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
FORBIDDEN = "django", "rest_framework", "kernel", "sessions", "approvals", "config"


def test_the_agent_loads_neither_django_nor_a_room_of_the_server() -> None:
    script = (
        "import sys, examples.invoice.agent, examples.invoice.correction_system;"
        "print(*sorted({name.split('.')[0] for name in sys.modules}))"
    )
    loaded = subprocess.check_output(
        [sys.executable, "-c", script], cwd=ROOT, text=True
    ).split()
    assert "examples" in loaded
    assert not set(loaded) & set(FORBIDDEN)
