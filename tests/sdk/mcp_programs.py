"""`keyturn-mcp` as a program of its own, over HTTP, for a real Keyturn."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.examples.waiting import wait_until
from tests.installation import free_port
from tests.sdk.worlds import Real

PROGRAM = str(Path(sys.executable).parent / "keyturn-mcp")


def environment(real: Real) -> dict[str, str]:
    told = {"KEYTURN_URL": real.url, "KEYTURN_API_KEY": real.house.robot.text}
    return {**os.environ, **told}


@contextmanager
def served(real: Real, *words: str, behind: Sequence[str] = ()) -> Iterator[str]:
    """The address of the server; before another one where `words` lead to that."""
    port = free_port()
    before, after = words[:1], words[1:]
    said = [PROGRAM, *before, "--http", str(port), *after, *behind]
    program = subprocess.Popen(said, env=environment(real))
    url = f"http://127.0.0.1:{port}/mcp"
    try:
        wait_until(lambda: _listens(url))
        yield url
    finally:
        program.terminate()
        program.wait(timeout=30)


def _listens(url: str) -> bool:
    try:
        httpx.get(url, trust_env=False, timeout=5)
    except httpx.TransportError:
        return False
    return True
