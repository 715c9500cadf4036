"""Keyturn's API over HTTP: what is sent once, sent again, and given up on.

Every POST carries an idempotency key that its caller derives from the run and the
step, so that it can be sent again, by this process or its successor, without
happening twice. That is why a lost connection is no special case here: wait, and
send the same again.
"""

import logging
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

log = logging.getLogger("keyturn")

LONGEST_WAIT = 50  # seconds a long poll stays open, below the server's limit of 60
_AGAIN = frozenset({429, 500, 502, 503, 504})
_BUSY = frozenset({"idempotency_in_flight"})
_LONGEST_PAUSE = 5.0

type Json = dict[str, Any]


@dataclass(eq=False)
class Problem(Exception):
    """The API refused. `code` is stable; `document` is the whole problem+json."""

    status: int
    code: str
    document: Mapping[str, Any]

    def __str__(self) -> str:
        return f"{self.status} {self.code}: {self.document.get('detail', '')}"


@dataclass(frozen=True, slots=True)
class Answer:
    """A successful response; `created`: this very call made what it describes."""

    body: Json
    created: bool


class OutOfPatience(Exception):
    """The server stayed away for longer than the agent is willing to wait."""


@dataclass(frozen=True, slots=True)
class Keyturn:
    """A connection. `patience` is for how long (s) an absent server is tried again."""

    http: httpx.Client
    patience: float = 900.0

    @classmethod
    def connect(cls, url: str, api_key: str, *, patience: float = 900.0) -> "Keyturn":
        base = httpx.URL(url)
        if base.scheme != "https" and base.host not in (
            "127.0.0.1",
            "::1",
            "localhost",
        ):
            raise ValueError(f"{url}: a key is sent over https, or to this machine")
        http = httpx.Client(
            base_url=base.join("/api/v1/"),
            headers={"Authorization": f"Bearer {api_key}"},
            timeout=httpx.Timeout(10.0, read=LONGEST_WAIT + 15.0),
            trust_env=False,  # no proxy that the environment happens to name
        )
        return cls(http, patience)

    def get(self, path: str, **query: str | int) -> Json:
        """Read; raises `Problem` and `OutOfPatience`."""
        request = self.http.build_request("GET", path, params=query)
        return self._send(request).body

    def post(
        self, path: str, body: Json, *, key: str, fence: int | None = None
    ) -> Answer:
        """Change something, once per `key`; raises `Problem` and `OutOfPatience`."""
        headers = {"Idempotency-Key": key}
        if fence is not None:
            headers["Keyturn-Fence"] = str(fence)
        request = self.http.build_request("POST", path, json=body, headers=headers)
        return self._send(request)

    def _send(self, request: httpx.Request) -> Answer:
        pause = Pause(self.patience)
        while True:
            try:
                response = self.http.send(request)
            except httpx.TransportError as error:
                pause.take(f"{request.url.path}: {type(error).__name__}")
                continue
            if response.is_success:
                return Answer(response.json(), created=response.status_code == 201)
            problem = _problem(response)
            if response.status_code not in _AGAIN and problem.code not in _BUSY:
                raise problem
            pause.take(str(problem), response.headers.get("Retry-After", ""))


@dataclass(slots=True)
class Pause:
    """Waits a little longer each time, never all clients at once, and not for ever."""

    patience: float
    started: float = field(default_factory=time.monotonic)
    times: int = 0

    def take(self, why: str, retry_after: str = "") -> None:
        if time.monotonic() - self.started > self.patience:
            raise OutOfPatience(why)
        self.times += 1
        longest = min(_LONGEST_PAUSE, 0.1 * 2 ** min(self.times, 10))
        asked = float(retry_after) if retry_after.isdecimal() else 0.0
        seconds = max(asked, random.uniform(longest / 2, longest))  # noqa: S311 - jitter
        if self.times in (1, 5) or self.times % 20 == 0:
            log.warning("trying again in %.1f s (%s)", seconds, why)
        time.sleep(seconds)


def _problem(response: httpx.Response) -> Problem:
    try:
        document = response.json()
    except ValueError:
        document = {}
    if not isinstance(document, dict):
        document = {}
    return Problem(response.status_code, str(document.get("code", "")), document)
