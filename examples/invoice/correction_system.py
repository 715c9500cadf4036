"""The company system that sends correction requests and holds payments.

It is a process of its own, as the systems are on which agents act:

    python -m examples.invoice.correction_system --port 0 --data FOLDER

prints {"url": …, "port": …} as one JSON line once it answers.

    POST /corrections, POST /holds     act once per Idempotency-Key; 201, or 200 again
    POST /payments, /refunds, …        the same for other departments (effect_ledger)
    GET  /corrections/by-key/{key}     what became of a key: 200 or 404
    GET  /corrections?key={key}        the same (and both for /holds)
    GET  /stats                        effects and calls by key, calls in flight
    POST /failures                     {"mode", "count"?, "seconds"?, "invoice_id"?}
    GET  /healthz

It listens on the loopback interface and asks nobody who they are: a stand-in for a
real system, not an example of one.
"""

import argparse
import json
import logging
import re
import socket
import struct
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.message import Message
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from examples.invoice.effect_ledger import (
    ABOUT_INVOICES,
    FIRST_IDS,
    Effect,
    EffectLedger,
    KeyReused,
    StaleFence,
)
from examples.invoice.log_lines import log_to_stderr
from examples.invoice.planned_failures import InvalidPlan, Mode, Plan, PlannedFailures

log = logging.getLogger("company")

MAX_BODY = 1024 * 1024
MOST_DISCARDED = 16 * MAX_BODY
_KEY = re.compile(r"[\x21-\x7e]{1,255}")
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER with no time: close sends a reset


@dataclass(eq=False)
class Answer(Exception):
    """A response; raised where it ends the handling early."""

    status: HTTPStatus
    body: Mapping[str, Any]


class Drop(Exception):
    """End the connection without an answer."""


def refusal(status: HTTPStatus, error: str, detail: str) -> Answer:
    return Answer(status, {"error": error, "detail": detail})


class OpenCalls:
    """Counts the calls that may still act."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.open = 0

    def __enter__(self) -> None:
        with self._lock:
            self.open += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self.open -= 1


class CorrectionServer(ThreadingHTTPServer):
    """The listening socket, and what its handlers share."""

    daemon_threads = True  # a call that hangs must not keep the process alive

    def __init__(self, address: tuple[str, int], ledger: EffectLedger) -> None:
        super().__init__(address, Handler)
        self.ledger = ledger
        self.failures = PlannedFailures()
        self.calls = OpenCalls()
        self.stopping = threading.Event()

    def act(self, kind: str, headers: Message, body: dict[str, Any]) -> Answer:
        """Carry out one call, or fail it as planned."""
        key, fence = _key(headers), _fence(headers)
        invoice_id = body.get("invoice_id", "")
        if not isinstance(invoice_id, str) or not (
            invoice_id or kind not in ABOUT_INVOICES
        ):
            raise refusal(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid", "invoice_id")
        with self.calls:
            self.ledger.note_arrival(key)
            plan = self.failures.next_for(invoice_id)
            self._fail_before(plan)
            effect = self._record(kind=kind, key=key, fence=fence, body=body)
        if plan.mode is Mode.COMMIT_THEN_DROP:
            raise Drop
        return _described(effect)

    def statistics(self) -> Answer:
        in_flight = {"in_flight": self.calls.open}
        return Answer(HTTPStatus.OK, self.ledger.statistics() | in_flight)

    def _fail_before(self, plan: Plan) -> None:
        if plan.mode is Mode.REFUSE:
            detail = "the supplier's account is closed"
            raise refusal(HTTPStatus.UNPROCESSABLE_ENTITY, "refused", detail)
        if plan.mode is Mode.ERROR_500:
            detail = "nothing was done"
            raise refusal(HTTPStatus.INTERNAL_SERVER_ERROR, "internal", detail)
        if plan.mode in (Mode.HANG, Mode.COMMIT_LATE):
            self.stopping.wait(plan.seconds)
        if plan.mode is Mode.HANG:
            raise Drop

    def _record(
        self, *, kind: str, key: str, fence: int | None, body: dict[str, Any]
    ) -> Effect:
        try:
            return self.ledger.record(kind=kind, key=key, fence=fence, body=body)
        except StaleFence as error:
            detail = "a newer fencing token was seen for this key"
            raise refusal(HTTPStatus.CONFLICT, "stale_fence", detail) from error
        except KeyReused as error:
            detail = "the key was used for another body"
            status = HTTPStatus.UNPROCESSABLE_ENTITY
            raise refusal(status, "key_reused", detail) from error

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of callers who left before they were answered."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def find(self, key: str) -> Answer:
        """What became of a key. `404` means: nothing yet."""
        effect = self.ledger.find(key)
        if effect is None:
            raise refusal(HTTPStatus.NOT_FOUND, "absent", "nothing under this key")
        return _described(effect)

    def order_failures(self, body: Mapping[str, Any]) -> Answer:
        try:
            plan = Plan.from_json(body)
        except InvalidPlan as error:
            status = HTTPStatus.UNPROCESSABLE_ENTITY
            raise refusal(status, "invalid_plan", str(error)) from error
        self.failures.order(plan)
        return Answer(HTTPStatus.OK, {"mode": plan.mode, "count": plan.count})


class Handler(BaseHTTPRequestHandler):
    """HTTP around `CorrectionServer`'s verbs."""

    protocol_version = "HTTP/1.1"
    server: CorrectionServer

    def do_GET(self) -> None:
        self._answer(self._get)

    def do_POST(self) -> None:
        self._answer(self._post)

    def _get(self) -> Answer:
        url = urlsplit(self.path)
        match url.path.strip("/").split("/"):
            case ["healthz"]:
                return Answer(HTTPStatus.OK, {"status": "ok"})
            case ["stats"]:
                return self.server.statistics()
            case [kind, "by-key", key] if kind in FIRST_IDS:
                return self.server.find(unquote(key))
            case [kind] if kind in FIRST_IDS:
                return self.server.find(parse_qs(url.query).get("key", [""])[0])
        raise refusal(HTTPStatus.NOT_FOUND, "not_found", "no such address")

    def _post(self) -> Answer:
        body = self._body()
        match urlsplit(self.path).path.strip("/"):
            case "failures":
                return self.server.order_failures(body)
            case kind if kind in FIRST_IDS:
                return self.server.act(kind, self.headers, body)
        raise refusal(HTTPStatus.NOT_FOUND, "not_found", "no such address")

    def _body(self) -> dict[str, Any]:
        length = self._length()
        if length > MAX_BODY:
            # Who closes on a caller that is still sending takes the answer with it.
            self.rfile.read(min(length, MOST_DISCARDED))
            self.close_connection = True
            status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
            raise refusal(status, "too_large", f"at most {MAX_BODY} bytes")
        try:
            body = json.loads(self.rfile.read(length))
        except (ValueError, RecursionError) as error:
            raise refusal(HTTPStatus.BAD_REQUEST, "not_json", str(error)) from error
        if not isinstance(body, dict):
            raise refusal(HTTPStatus.BAD_REQUEST, "not_json", "an object is expected")
        return body

    def _length(self) -> int:
        stated = self.headers.get("Content-Length", "")
        if not re.fullmatch(r"[0-9]{1,12}", stated):
            self.close_connection = True
            detail = "a Content-Length is required"
            raise refusal(HTTPStatus.LENGTH_REQUIRED, "length_required", detail)
        return int(stated)

    def _answer(self, handle: Callable[[], Answer]) -> None:
        try:
            answer = handle()
        except Answer as early:
            answer = early
        except Drop:
            self._reset()
            return
        self._send(answer)

    def _send(self, answer: Answer) -> None:
        payload = json.dumps(answer.body).encode()
        self.send_response(answer.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(payload)

    def _reset(self) -> None:
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        # The server shuts a finished connection down politely; closing first resets.
        self.connection.close()

    def log_message(self, format: str, *args: Any) -> None:
        """Write what http.server would, in our own form."""
        log.info("%s", format % args)


def _key(headers: Message) -> str:
    key = headers.get("Idempotency-Key", "")
    if not _KEY.fullmatch(key):
        detail = "an Idempotency-Key of 1 to 255 visible characters is required"
        raise refusal(HTTPStatus.BAD_REQUEST, "key_required", detail)
    return key


def _fence(headers: Message) -> int | None:
    fence = headers.get("Keyturn-Fence")
    if fence is None:
        return None
    if not re.fullmatch(r"[0-9]{1,18}", fence):
        raise refusal(HTTPStatus.BAD_REQUEST, "invalid_fence", "digits are expected")
    return int(fence)


def _described(effect: Effect) -> Answer:
    status = HTTPStatus.OK if effect.replayed else HTTPStatus.CREATED
    body = {
        "state": "confirmed",
        "external_id": effect.external_id,
        "arguments": effect.arguments,
        "created_at": effect.created_at,
        "replayed": effect.replayed,
    }
    return Answer(status, body)


def main() -> None:
    parser = argparse.ArgumentParser(prog="examples.invoice.correction_system")
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument(
        "--data", type=Path, required=True, help="where effects are kept"
    )
    parser.add_argument(
        "--ignore-keys",
        action="store_true",
        help="play a system that acts again on every call",
    )
    options = parser.parse_args()
    log_to_stderr()
    ledger = EffectLedger(options.data, honours_keys=not options.ignore_keys)
    server = CorrectionServer(("127.0.0.1", options.port), ledger)
    port = server.server_address[1]
    print(json.dumps({"url": f"http://127.0.0.1:{port}", "port": port}), flush=True)  # noqa: T201
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        server.stopping.set()
    finally:
        server.server_close()
        ledger.close()


if __name__ == "__main__":
    main()
