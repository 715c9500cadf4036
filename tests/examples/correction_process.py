"""The correction system as what it is: a process that can be killed and restarted."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

import httpx

ROOT = Path(__file__).parents[2]


class CorrectionProcess:
    """One process after the other on the same data folder and port."""

    def __init__(self, data: Path, *flags: str) -> None:
        self.data = data
        self.flags = flags
        self.port = 0
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        module = "examples.invoice.correction_system"
        options = ["--port", str(self.port), "--data", str(self.data), *self.flags]
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, *options],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self._process.stdout is not None
        self.port = json.loads(self._process.stdout.readline())["port"]

    def kill(self) -> None:
        """SIGKILL: nothing is written any more, nothing is said."""
        if self._process is not None and self._process.stdout is not None:
            self._process.kill()
            self._process.wait()
            self._process.stdout.close()
            self._process = None

    def fail_next(self, mode: str, **more: Any) -> None:
        with self.client() as client:
            assert client.post("/failures", json={"mode": mode, **more}).is_success

    def statistics(self) -> dict[str, Any]:
        with self.client() as client:
            answer: dict[str, Any] = client.get("/stats").json()
        return answer

    def client(self, *, timeout: float = 10.0) -> httpx.Client:
        return httpx.Client(base_url=self.url, timeout=timeout, trust_env=False)
