"""An external tool with a memory and bad habits, over real sockets.

`POST /{habit}` acts once per idempotency key and then answers as its habit is; the
effects it had are in `acted`. `GET /status/{key}` tells the truth about a key.
"""

import json
import socket
import ssl
import struct
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any, Self

DELAY = 0.05  # seconds between the bytes of an answer that drips


class ToolServer:
    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.acted: dict[str, dict[str, Any]] = {}
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []
        self.released = Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.port: int = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread = Thread(target=self._server.serve_forever, args=(0.02,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.released.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def _handler(server: ToolServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            server.requests.append(("POST", self.path, dict(self.headers), body))
            habit, _, argument = self.path.strip("/").partition("/")
            getattr(self, f"habit_{habit}")(argument)

        def do_GET(self) -> None:
            server.requests.append(("GET", self.path, dict(self.headers), b""))
            habit, _, argument = self.path.strip("/").partition("/")
            if habit == "status":
                known = server.acted.get(argument)
                self.answer(200 if known else 404, known or {})
            else:
                getattr(self, f"habit_{habit}")(argument)

        def act(self) -> dict[str, Any]:
            key = self.headers["Idempotency-Key"]
            number = f"CR-{771 + len(server.acted)}"
            known = {"state": "confirmed", "external_id": number}
            return server.acted.setdefault(key, known)

        def habit_confirm(self, _: str) -> None:
            self.answer(201, self.act())

        def habit_echo(self, _: str) -> None:
            """It repeats all that it was told, as debugging servers do."""
            self.act()
            _, _, headers, body = server.requests[-1]
            said = headers.get("Authorization", "")
            members = {"external_id": said, "headers": headers, "body": body.decode()}
            self.answer(201, members)

        def habit_say(self, status: str) -> None:
            self.answer(int(status), {"external_id": "CR-1"})

        def habit_hang(self, _: str) -> None:
            self.act()
            server.released.wait(60)

        def habit_reset(self, _: str) -> None:
            """The effect is there; the answer is a reset connection."""
            self.act()
            linger = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self.connection.close()
            self.close_connection = True

        def habit_cut(self, _: str) -> None:
            self.act()
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
            self.close_connection = True

        def habit_drip(self, _: str) -> None:
            self.act()
            self.drip(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 1_000_000)

        def habit_dripbody(self, _: str) -> None:
            self.act()
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
            self.drip(b"x" * 1_000_000)

        def habit_huge(self, size: str) -> None:
            self.act()
            self.raw(200, b"x" * int(size))

        def habit_raw(self, text: str) -> None:
            self.act()
            self.raw(200, bytes.fromhex(text))

        def habit_redirect(self, _: str) -> None:
            self.send_response(307)
            self.send_header("Location", "/confirm")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def answer(self, status: int, members: dict[str, Any]) -> None:
            self.raw(status, json.dumps(members).encode())

        def raw(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            try:
                self.wfile.write(body)
            except OSError:
                self.close_connection = True

        def drip(self, data: bytes) -> None:
            try:
                for each in data:
                    self.wfile.write(bytes([each]))
                    if server.released.wait(DELAY):
                        break
            except OSError:
                pass
            self.close_connection = True

    return Handler
