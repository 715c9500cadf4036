"""The one way out: every HTTP request to an address that somebody configured.

Resolve, refuse private addresses unless allowed, and connect to the very address that
was checked; no redirect, no proxy from the environment, one deadline for all of it,
and a bound on the answer. What is raised says whether anything can have arrived.
"""

import re
import socket
import ssl
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Final
from urllib.parse import urlsplit

import httpcore
from django.conf import settings
from django.db import connection

from checkpoints.addresses import networks, refused_address

MAX_ANSWER: Final = 1024 * 1024  # bytes
MAX_ADDRESSES: Final = 3  # tried in turn, while nothing has been sent
_URL: Final = re.compile(r"[\x21-\x5b\x5d-\x7e]{1,2000}")  # no space, no backslash
_CHUNK: Final = 64 * 1024


class NotSent(Exception):
    """Nothing of the request left this process: it cannot have had an effect."""

    def __init__(self, code: str, detail: str = "") -> None:
        super().__init__(f"{code}: {detail}" if detail else code)
        self.code = code
        self.detail = detail


class Unanswered(Exception):
    """The request, or a part of it, was sent, and no whole answer came back."""

    def __init__(self, code: str, detail: str = "") -> None:
        super().__init__(f"{code}: {detail}" if detail else code)
        self.code = code
        self.detail = detail


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back, whole. `headers` has lower-case names; a redirect is an answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    address: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    scheme: str
    host: str
    port: int
    target: str

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        usual = {"http": 80, "https": 443}[self.scheme]
        return host if self.port == usual else f"{host}:{self.port}"


@dataclass(slots=True)
class _Journey:
    """One request's deadlines (monotonic), and how far it got."""

    ends: float
    start_by: float
    sent: bool = False
    address: str = ""

    def left(self) -> float:
        """Seconds until the end. Raises TimeoutError when there are none."""
        left = self.ends - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def begin_sending(self) -> None:
        """Past this, the other side may act. Raises `NotSent` when it is too late."""
        if not self.sent and time.monotonic() >= self.start_by:
            raise NotSent("too_late", "its time to be sent had passed")
        self.sent = True


def send(
    method: str,
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    body: bytes = b"",
    within: float,
    start_by: float = float("inf"),
    most: int = MAX_ANSWER,
) -> Answer:
    """Make one request and read its whole answer, in `within` seconds altogether.

    No byte of it is sent after `start_by` (monotonic clock). Raises `NotSent` or
    `Unanswered`; `code` is one of `url_refused`, `name_unknown`, `address_refused`,
    `not_connected`, `too_late`, `timeout`, `broken_off`, `answer_too_large`.
    """
    assert not connection.in_atomic_block, "never call out inside a transaction"
    place = _place(url)
    journey = _Journey(ends=time.monotonic() + within, start_by=start_by)
    try:
        addresses = _allowed_addresses(place, journey)
        with _pool(journey, addresses) as pool:
            return _exchange(pool, method, place, headers or {}, body, journey, most)
    except (TimeoutError, httpcore.TimeoutException) as error:
        raise _failure(journey)("timeout") from error
    except httpcore.ConnectError as error:
        raise NotSent("not_connected", str(error)) from error
    except (OSError, httpcore.NetworkError, httpcore.ProtocolError) as error:
        raise _failure(journey)("broken_off", str(error)) from error


def _failure(journey: _Journey) -> Callable[..., NotSent | Unanswered]:
    return Unanswered if journey.sent else NotSent


def _place(url: str) -> _Place:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise NotSent("url_refused", "not an address") from None
    if not _URL.fullmatch(url) or parts.scheme not in {"http", "https"}:
        raise NotSent("url_refused", "not an http or https address")
    if not parts.hostname or "@" in parts.netloc or "%" in parts.netloc:
        raise NotSent("url_refused", "a host is named, and nothing but a host")
    query = f"?{parts.query}" if parts.query else ""
    return _Place(
        scheme=parts.scheme,
        host=parts.hostname,
        port=port or {"http": 80, "https": 443}[parts.scheme],
        target=(parts.path or "/") + query,
    )


def _allowed_addresses(place: _Place, journey: _Journey) -> list[str]:
    """Every address of the name, if all of them may be reached."""
    allowed = networks(tuple(settings.ALLOW_PRIVATE))
    addresses = _resolve(place, journey)
    for address in addresses:
        why = refused_address(address, allowed)
        if why:
            raise NotSent("address_refused", f"{place.host} is {address}: {why}")
    return addresses[:MAX_ADDRESSES]


def _resolve(place: _Place, journey: _Journey) -> list[str]:
    # The system's resolver knows no deadline: a thread of its own may be left behind.
    answer: SimpleQueue[list[str] | OSError | UnicodeError] = SimpleQueue()

    def look_up() -> None:
        try:
            found = socket.getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM)
            answer.put(list(dict.fromkeys(str(entry[4][0]) for entry in found)))
        except (OSError, UnicodeError) as error:
            answer.put(error)

    Thread(target=look_up, daemon=True, name="resolve").start()
    try:
        addresses = answer.get(timeout=journey.left())
    except Empty:
        raise TimeoutError from None
    if isinstance(addresses, Exception):
        raise NotSent("name_unknown", place.host) from addresses
    return addresses


def _exchange(
    pool: httpcore.ConnectionPool,
    method: str,
    place: _Place,
    headers: Mapping[str, str],
    body: bytes,
    journey: _Journey,
    most: int,
) -> Answer:
    # Ours come last: nobody chooses another host than the one that was checked.
    fixed = {"Host": place.authority, "Accept-Encoding": "identity"}
    url = httpcore.URL(
        scheme=place.scheme, host=place.host, port=place.port, target=place.target
    )
    content = body if body or method != "GET" else None
    with pool.stream(
        method, url, headers=list({**headers, **fixed}.items()), content=content
    ) as got:
        return Answer(
            status=got.status,
            headers={
                name.decode("latin-1").lower(): value.decode("latin-1")
                for name, value in got.headers
            },
            body=_bounded(got.iter_stream(), most),
            address=journey.address,
        )


def _bounded(chunks: Iterable[bytes], most: int) -> bytes:
    body = bytearray()
    for chunk in chunks:
        body += chunk
        if len(body) > most:
            raise Unanswered("answer_too_large", f"more than {most} bytes")
    return bytes(body)


@cache
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()


def _pool(journey: _Journey, addresses: list[str]) -> httpcore.ConnectionPool:
    backend = _Pinned(journey, addresses)
    return httpcore.ConnectionPool(
        ssl_context=_tls(), network_backend=backend, max_connections=1
    )


class _Pinned(httpcore.NetworkBackend):
    """Connects to the checked addresses only, whatever the name means by now."""

    def __init__(self, journey: _Journey, addresses: list[str]) -> None:
        self.journey = journey
        self.addresses = addresses

    def connect_tcp(
        self, host: str, port: int, *_: Any, **__: Any
    ) -> httpcore.NetworkStream:
        last: OSError = ConnectionError("no address")
        for address in self.addresses:
            try:
                left = self.journey.left()
                connected = socket.create_connection((address, port), timeout=left)
            except TimeoutError:
                raise
            except OSError as error:
                last = error
            else:
                self.journey.address = address
                connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return _Stream(connected, self.journey)
        raise httpcore.ConnectError(str(last))


@dataclass
class _Stream(httpcore.NetworkStream):
    """A socket whose every operation ends with the journey."""

    socket: socket.socket
    journey: _Journey = field(repr=False)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        self.socket.settimeout(self.journey.left())
        return self.socket.recv(max_bytes)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if buffer:
            self.journey.begin_sending()
        rest = memoryview(buffer)
        while rest:
            self.socket.settimeout(self.journey.left())
            try:
                rest = rest[self.socket.send(rest[:_CHUNK]) :]
            except TimeoutError:
                raise
            except OSError as error:  # the answer may have come early: let it be read
                raise httpcore.WriteError(str(error)) from error

    def close(self) -> None:
        self.socket.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        self.socket.settimeout(self.journey.left())
        try:
            secured = ssl_context.wrap_socket(
                self.socket, server_hostname=server_hostname
            )
        except TimeoutError:
            raise
        except OSError as error:
            raise httpcore.ConnectError(str(error)) from error
        return _Stream(secured, self.journey)

    def get_extra_info(self, info: str) -> Any:
        if info == "ssl_object" and isinstance(self.socket, ssl.SSLSocket):
            return self.socket
        return None
