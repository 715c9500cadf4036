"""An external tool of its own: a real HTTP server that remembers what it was asked."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from kernel.ids import new_id


class ToolServer:
    """Each `definition()` gives a tool at an address of its own, and counts for it."""

    def __init__(self) -> None:
        self._received: dict[str, list[dict[str, str]]] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._path = ""
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def definition(self) -> dict[str, Any]:
        self._path = f"/{new_id().hex}"
        self._received[self._path] = []
        base = f"http://127.0.0.1:{self._server.server_port}{self._path}"
        return {"url": base, "status_url": f"{base}/{{key}}"}

    def calls(self) -> int:
        """How often the newest tool was called."""
        return len(self._received.get(self._path, []))

    def keys(self) -> list[str]:
        return [one["Idempotency-Key"] for one in self._received[self._path]]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        received = self._received

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                received[self.path].append(dict(self.headers))
                body = json.dumps({"external_id": "EX-1"}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: object) -> None:
                """Quiet: the test looks at what was received."""

        return Handler
