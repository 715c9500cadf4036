"""The company's systems that managed tools call: what they did is the truth.

Each tool is an address of one HTTP server. How it behaves is set from outside; whether
it honours idempotency keys is its nature.
"""

import json
import threading
from collections import Counter
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from kernel.ids import new_id

BEHAVIOURS: Final = (
    "confirm",
    "refuse",
    "error after commit",
    "drop before commit",
    "drop after commit",
    "commit later",  # it hangs up first, and what it was asked lands some time after
)
DOES_IT: Final = {"confirm", "error after commit", "drop after commit"}
HANGS_UP: Final = {"drop before commit", "drop after commit", "commit later"}
STATUS: Final = {"confirm": 200, "refuse": 400, "error after commit": 500}


@dataclass(frozen=True, slots=True)
class Call:
    """What arrived, as it arrived."""

    key: str
    attempt: int
    fence: int
    body: bytes


@dataclass
class System:
    """One tool's other side."""

    honours_keys: bool
    behaviour: str = "confirm"
    tells: bool = True  # whether its status can be asked at the moment
    calls: list[Call] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter)  # effects by key
    late: list[str] = field(default_factory=list)

    def receive(self, call: Call) -> None:
        self.calls.append(call)
        if self.behaviour in DOES_IT:
            self.carry_out(call.key)
        if self.behaviour == "commit later":
            self.late.append(call.key)

    def carry_out(self, key: str) -> None:
        if not (self.honours_keys and self.done[key]):
            self.done[key] += 1

    def forget(self) -> None:
        """As good as new: an episode is over."""
        self.behaviour, self.tells = "confirm", True
        for kept in (self.calls, self.done, self.late):
            kept.clear()

    def land(self) -> None:
        """What was on its way arrives; before the tool's settle time, by definition."""
        while self.late:
            self.carry_out(self.late.pop())


class Company:
    """The server of all systems."""

    def __init__(self) -> None:
        self._systems: dict[str, System] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self._systems))
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def system(self, *, honours_keys: bool) -> tuple[System, dict[str, Any]]:
        """A new system, and where a tool's definition finds it."""
        name, system = new_id().hex, System(honours_keys)
        self._systems[name] = system
        base = f"http://127.0.0.1:{self._server.server_port}/{name}"
        return system, {"url": base, "status_url": f"{base}/{{key}}"}

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def _handler(systems: dict[str, System]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            system = systems[self.path.split("/")[1]]
            call = Call(
                key=self.headers["Idempotency-Key"],
                attempt=int(self.headers["Keyturn-Attempt"]),
                fence=int(self.headers["Keyturn-Fence"]),
                body=self.rfile.read(int(self.headers["Content-Length"])),
            )
            system.receive(call)
            if system.behaviour in HANGS_UP:
                self.connection.close()
            else:
                self._answer(STATUS[system.behaviour], {"external_id": call.key[:8]})

        def do_GET(self) -> None:
            _, name, key = self.path.split("/")
            system = systems[name]
            if not system.tells:
                self._answer(503, {})
            elif system.done[key]:
                self._answer(200, {"state": "confirmed", "external_id": key[:8]})
            else:
                self._answer(404, {})

        def _answer(self, status: int, body: dict[str, Any]) -> None:
            text = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *args: object) -> None:
            """Quiet: the machine looks at what was received."""

    return Handler
