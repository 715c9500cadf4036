"""A front between an agent and the server, on which accidents can be arranged.

It passes every request on to the real server. An accident happens to one request,
before the server gets it or after the server has answered it.
"""

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx

_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{32}")


class When(StrEnum):
    """Before: the server never gets it. After: its answer never arrives."""

    BEFORE = "before"
    AFTER = "after"


type Accident = Callable[["Exchange", When], bool]
"""Told of each request twice; returns whether the connection ends there."""


class Exchange:
    """One request as it came: `name` is the same when it is sent again."""

    def __init__(self, number: int, method: str, path: str, key: str) -> None:
        self.number = number
        self.is_write = method == "POST"
        self.kind = path.rsplit("/", 1)[-1]
        # Without what differs from process to process: the same step, the same name.
        self.name = f"{method} {_ID.sub('*', path)} {_ID.sub('*', key)}"


class Front(ThreadingHTTPServer):
    """Listens on a port of its own and passes on to `target`."""

    daemon_threads = True

    def __init__(self, target: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.target = target
        self.accident: Accident = lambda exchange, when: False
        self.seen: list[Exchange] = []
        self._lock = threading.Lock()
        self.server = httpx.Client(base_url=target, timeout=70, trust_env=False)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def note(self, method: str, path: str, key: str) -> Exchange:
        with self._lock:
            exchange = Exchange(len(self.seen) + 1, method, path, key)
            self.seen.append(exchange)
            return exchange

    def handle_error(self, request: object, client_address: object) -> None:
        """Agents that are killed leave in the middle: nothing to say."""


@contextmanager
def front_of(target: str) -> Iterator[Front]:
    front = Front(target)
    thread = threading.Thread(target=front.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield front
    finally:
        front.shutdown()
        front.server_close()
        front.server.close()
        thread.join()


def at_each_write(happen: Callable[[], None]) -> Accident:
    """Let it happen before and after each write, to each of them once."""
    return _once_each(happen, lambda exchange, when: (exchange.name, when))


def after_each_kind_of_write(happen: Callable[[], None]) -> Accident:
    """Let it happen once after each kind of write: a claim, a pause, a checkpoint…"""
    return _once_each(
        happen,
        lambda exchange, when: exchange.kind if when is When.AFTER else None,
    )


def _once_each(
    happen: Callable[[], None], place_of: Callable[[Exchange, When], object]
) -> Accident:
    done: set[object] = {None}
    lock = threading.Lock()

    def accident(exchange: Exchange, when: When) -> bool:
        with lock:
            place = place_of(exchange, when)
            if not exchange.is_write or place in done:
                return False
            done.add(place)
        happen()
        return True

    return accident


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Front

    def do_GET(self) -> None:
        self._pass_on()

    def do_POST(self) -> None:
        self._pass_on()

    def _pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        key = self.headers.get("Idempotency-Key", "")
        exchange = self.server.note(self.command, self.path, key)
        if self._ended(exchange, When.BEFORE):
            return
        kept = {
            name: value
            for name, value in self.headers.items()
            if name.lower() not in ("host", "content-length", "connection")
        }
        try:
            answer = self.server.server.request(
                self.command, self.path, content=body, headers=kept
            )
        except httpx.TransportError:
            self.close_connection = True
            return
        if not self._ended(exchange, When.AFTER):
            self._answer(answer)

    def _ended(self, exchange: Exchange, when: When) -> bool:
        self.close_connection = self.server.accident(exchange, when)
        return self.close_connection

    def _answer(self, answer: httpx.Response) -> None:
        self.send_response(answer.status_code)
        for name in ("Content-Type", "Retry-After"):
            if name in answer.headers:
                self.send_header(name, answer.headers[name])
        self.send_header("Content-Length", str(len(answer.content)))
        self.end_headers()
        self.wfile.write(answer.content)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""
