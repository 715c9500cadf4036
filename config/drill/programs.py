"""The programs of the drill's own installation, and what is different about them.

The worker has children, as large installations' workers have, so that either can be
killed; its places can be held; and it believes sooner that a colleague is dead.
"""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from config.demo.programs import BASE_DIR, beat, web
from config.embedded.supervisor import Program

CLAIM_SECONDS: Final = 2
LOOPBACK: Final = "127.0.0.0/8"  # where the drill's tools and receivers are
CHILDREN: Final = 4
TOOL: Final = BASE_DIR / "oversight" / "drills" / "tool_process.py"
SLEEP: Final = Path(__file__).with_name("faketime")  # its sitecustomize
FAKETIME: Final = ("/usr/lib/*/faketime", "/usr/lib/faketime", "/opt/homebrew/lib/*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Programs:
    """How each program is started. `environment` is added to all of them."""

    port: int
    tool_port: int
    barriers: Path
    environment: Mapping[str, str]
    app: str = "config"  # where Celery finds its app
    asgi: str = "config.asgi:application"

    def tool(self) -> Program:
        command = [sys.executable, "-I", str(TOOL), "--port", str(self.tool_port)]
        return Program(name="tool", command=command)

    def web(self, **more: str) -> Program:
        program = web(self.port)
        command = [
            self.asgi if part == "config.asgi:application" else part
            for part in program.command
        ]
        return self._told(replace(program, command=command), more)

    def worker(self, name: str = "worker", **more: str) -> Program:
        command = [
            *(sys.executable, "-m", "celery", "--app", self.app, "worker"),
            *("--loglevel", "WARNING", "--hostname", f"{name}@drill"),
            *("--pool", "prefork", "--concurrency", str(CHILDREN)),
            *("--without-gossip", "--without-mingle", "--without-heartbeat"),
        ]
        environment = web(self.port).environment  # where our files are found
        program = Program(name=name, command=command, environment=environment)
        return self._told(program, more)

    def beat(self) -> Program:
        return self._told(beat(), {})

    def _told(self, program: Program, more: Mapping[str, str]) -> Program:
        told = {
            "KEYTURN_BASE_URL": f"http://127.0.0.1:{self.port}",
            "KEYTURN_ALLOW_PRIVATE": LOOPBACK,
            "KEYTURN_CLAIM_SECONDS": str(CLAIM_SECONDS),
            "KEYTURN_TEST_BARRIERS": str(self.barriers),
            "KEYTURN_LOGS": "console",
        }
        return replace(
            program,
            environment={**program.environment, **told, **self.environment, **more},
        )


def wrong_clock(seconds: int) -> dict[str, str] | None:
    """What makes a program's clock wrong; None where libfaketime is not installed.

    Its monotonic clock stays as it is, as that of a machine with a wrong date does.
    """
    folders = (Path("/").glob(pattern.lstrip("/")) for pattern in FAKETIME)
    for folder in (each for found in folders for each in found):
        for name in ("libfaketimeMT.so.1", "libfaketime.so.1"):
            if (folder / name).exists():
                return {
                    "LD_PRELOAD": str(folder / name),
                    "PYTHONPATH": f"{SLEEP}{os.pathsep}{BASE_DIR}",
                    "FAKETIME": f"{seconds:+d}",
                    "FAKETIME_DONT_FAKE_MONOTONIC": "1",
                    "DONT_FAKE_MONOTONIC": "1",
                }
    return None
