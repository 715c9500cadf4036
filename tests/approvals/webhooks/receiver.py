"""Somebody outside who is told: a real HTTP server that keeps what it received."""

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from standardwebhooks import Webhook as Signer


@dataclass(frozen=True, slots=True)
class Received:
    """One POST as it came."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def told(self) -> dict[str, Any]:
        body: dict[str, Any] = json.loads(self.body)
        return body

    def verified(self, secret: str) -> Any:
        """Its body, by the library that receivers use. Raises if it is not signed."""
        return Signer(secret).verify(self.body, self.headers)


@dataclass
class Receiver:
    """`status` is what it answers, with `answer` and `headers`; it waits for `answering`."""

    status: int = 204
    answer: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    received: list[Received] = field(default_factory=list)
    answering: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.answering.set()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/hook"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.02,), daemon=True
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.answering.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def types(self) -> list[str]:
        return [one.told["type"] for one in self.received]


def _handler(receiver: Receiver) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            receiver.received.append(Received(self.path, headers, body))
            receiver.answering.wait(timeout=60)
            self.send_response(receiver.status)
            for name, value in receiver.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(receiver.answer)))
            self.end_headers()
            self.wfile.write(receiver.answer)

        def log_message(self, *args: object) -> None:
            """Quiet: the test looks at what was received."""

    return Handler
