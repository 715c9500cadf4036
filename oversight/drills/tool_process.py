"""A tool of the outside world, as a process of its own: it acts, counts and misbehaves.

`python tool_process.py [--port N]` prints its address and serves until it is ended. It
needs nothing but the standard library, and knows nothing of whoever calls it.

    POST /tools/NAME            act, under the headers Idempotency-Key, Keyturn-Fence
    GET  /tools/NAME/KEY        what came of a key
    PUT  /control/NAME          {"answer", "honours_keys", "fences", "hold"}
    GET  /control/NAME          {"calls", "effects": {key: n}, "fenced_off", "held"}
"""

import argparse
import json
import sys
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

STATUSES: Final = {"confirm": 200, "refuse": 400, "error": 500, "drop": 0}
LONGEST_HOLD: Final = 120  # seconds


@dataclass
class Tool:
    """One address. Everything is read and changed under the lock."""

    answer: str = "confirm"  # one of STATUSES; "drop" closes without an answer
    honours_keys: bool = False  # the same key acts once
    fences: bool = False  # an older fence than one seen under this key acts not at all
    hold: str = ""  # "before" or "after" acting, until it is set to "" again
    calls: int = 0
    held: int = 0
    fenced_off: int = 0
    effects: dict[str, int] = field(default_factory=dict)
    highest: dict[str, int] = field(default_factory=dict)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def receive(self, key: str, fence: int) -> int:
        """Act as told; the status to answer with, 0 for none."""
        with self.changed:
            self.calls += 1
            self.highest[key] = max(fence, self.highest.get(key, fence))
            self._wait("before")
            if self.fences and fence < self.highest[key]:
                self.fenced_off += 1
                return 409
            acts = self.answer in {"confirm", "drop"}
            if acts and not (self.honours_keys and key in self.effects):
                self.effects[key] = self.effects.get(key, 0) + 1
            answer = self.answer
            self._wait("after")
        return STATUSES[answer]

    def _wait(self, place: str) -> None:
        if self.hold == place:
            self.held += 1
            self.changed.wait_for(lambda: self.hold != place, timeout=LONGEST_HOLD)
            self.held -= 1

    def configure(self, wanted: dict[str, Any]) -> None:
        with self.changed:
            for name in ("answer", "honours_keys", "fences", "hold"):
                if name in wanted:
                    setattr(self, name, wanted[name])
            self.changed.notify_all()

    def seen(self) -> dict[str, Any]:
        with self.changed:
            return {
                "calls": self.calls,
                "effects": dict(self.effects),
                "fenced_off": self.fenced_off,
                "held": self.held,
            }


class Tools(ThreadingHTTPServer):
    """Tools by name, made as soon as they are spoken of."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self._tools: dict[str, Tool] = {}
        self._lock = threading.Lock()

    def named(self, name: str) -> Tool:
        with self._lock:
            return self._tools.setdefault(name, Tool())


class Handler(BaseHTTPRequestHandler):
    server: Tools

    def do_POST(self) -> None:
        self._body()
        tool = self.server.named(self._parts()[1])
        key = self.headers.get("Idempotency-Key", "")
        status = tool.receive(key, int(self.headers.get("Keyturn-Fence", "0")))
        if status:
            self._answer(status, {"external_id": f"EX-{key[:12]}"})
        else:
            self.close_connection = True

    def do_GET(self) -> None:
        kind, name, *key = self._parts()
        tool = self.server.named(name)
        if kind == "control":
            self._answer(200, tool.seen())
        elif tool.seen()["effects"].get(key[0]):
            said = {"state": "confirmed", "external_id": f"EX-{key[0][:12]}"}
            self._answer(200, said)
        else:
            self._answer(404, {})

    def do_PUT(self) -> None:
        self.server.named(self._parts()[1]).configure(json.loads(self._body()))
        self._answer(200, {})

    def _parts(self) -> list[str]:
        return self.path.strip("/").split("/")

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length", "0")))

    def _answer(self, status: int, body: dict[str, Any]) -> None:
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *args: object) -> None:
        """Quiet: whoever wants to know asks `control`."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    server = Tools(parser.parse_args().port)
    sys.stdout.write(f"http://127.0.0.1:{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main()
