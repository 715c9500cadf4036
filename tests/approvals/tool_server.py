"""An external tool of its own: a real HTTP server that remembers what it was asked."""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from kernel.ids import new_id


@dataclass
class Tool:
    """One address: what it received, what it did, and how it answers."""

    received: list[dict[str, str]] = field(default_factory=list)
    done: dict[str, str] = field(default_factory=dict)  # key → external id
    behaviour: str = "confirm"  # refuse, error, commit_then_drop, drop
    answering: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.answering.set()


class ToolServer:
    """Each `definition()` gives a tool at an address of its own, and counts for it."""

    def __init__(self) -> None:
        self._tools: dict[str, Tool] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self._find))
        self.current = Tool()
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def definition(self, **terms: Any) -> dict[str, Any]:
        name, self.current = new_id().hex, Tool()
        self._tools[name] = self.current
        base = f"http://127.0.0.1:{self._server.server_port}/{name}"
        return {"url": base, "status_url": f"{base}/{{key}}", **terms}

    def calls(self) -> int:
        """How often the newest tool was called."""
        return len(self.current.received)

    def keys(self) -> list[str]:
        """The idempotency keys it was called with, in order."""
        return [one["Idempotency-Key"] for one in self.current.received]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _find(self, path: str) -> Tool:
        return self._tools[path.split("/")[1]]


def _handler(find: Callable[[str], Tool]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            tool, key = find(self.path), self.headers["Idempotency-Key"]
            tool.received.append(dict(self.headers))
            if tool.behaviour in {"confirm", "commit_then_drop"}:
                tool.done.setdefault(key, f"EX-{len(tool.done) + 1}")
            tool.answering.wait(timeout=30)
            if tool.behaviour in {"drop", "commit_then_drop"}:
                self.connection.close()
                return
            self._answer(ANSWERS[tool.behaviour], {"external_id": tool.done.get(key)})

        def do_GET(self) -> None:
            key = self.path.rsplit("/", 1)[1]
            done = find(self.path).done.get(key)
            if done is None:
                self._answer(404, {})
            else:
                self._answer(200, {"state": "confirmed", "external_id": done})

        def _answer(self, status: int, body: dict[str, Any]) -> None:
            text = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *args: object) -> None:
            """Quiet: the test looks at what was received."""

    return Handler


ANSWERS = {"confirm": 200, "refuse": 400, "error": 500}
