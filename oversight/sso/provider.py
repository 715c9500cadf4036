"""Asking a provider: what it publishes, and a code's token. Nothing of it is trusted
before `tokens` has checked it."""

import time
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final
from urllib.parse import quote_plus, urlencode

from django.db import connection

from checkpoints.outbound import Answer, NotSent, Unanswered, send
from kernel.problems import Problem, declare
from kernel.strict_json import parse
from tenants.services.single_sign_on import Provider, flaw_of

WITHIN: Final = 8.0  # seconds for each question
KEPT: Final = 60.0  # seconds that what it publishes is kept: strangers cause the asking
MOST_KEPT: Final = 200
LARGEST: Final = 256 * 1024  # bytes

PROVIDER_FAILED: Final = declare(
    "sso.provider_failed", status=502, title="The provider did not answer as it should"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """What is used of a provider's metadata (OpenID Connect Discovery 1.0)."""

    authorization: str
    token: str
    keys: str
    posts_secret: bool
    names_itself: bool
    """Whether each of its answers says whose it is (RFC 9207)."""


def published(issuer: str) -> Published:
    """Raises `sso.provider_failed` (502), also from memory."""
    return _memory.recall(issuer)


def id_token(
    provider: Provider, known: Published, *, code: str, verifier: str, redirect: str
) -> str:
    """The ID token for a code. Raises `sso.provider_failed` (502)."""
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": redirect,
        "code_verifier": verifier,
        "client_id": provider.client_id,
    }
    headers = {
        "Content-Type": "application/x-www-form-urlencoded",
        "Accept": "application/json",
    }
    if known.posts_secret:
        form["client_secret"] = provider.secret
    else:
        headers["Authorization"] = _basic(provider)
    answer = _asked("POST", known.token, headers, urlencode(form).encode())
    token = answer.get("id_token")
    if not isinstance(token, str):
        raise PROVIDER_FAILED("It gave no ID token.")
    return token


def signing_keys(known: Published) -> list[object]:
    """Its keys as they are now (RFC 7517). Raises `sso.provider_failed` (502)."""
    keys = _asked("GET", known.keys, {"Accept": "application/json"}).get("keys")
    if not isinstance(keys, list):
        raise PROVIDER_FAILED("It publishes no keys.")
    return keys


def _discovered(issuer: str) -> Published:
    place = f"{issuer.rstrip('/')}/.well-known/openid-configuration"
    said = _asked("GET", place, {"Accept": "application/json"})
    if said.get("issuer") != issuer:
        raise PROVIDER_FAILED("It publishes another issuer's name.")
    methods = said.get("token_endpoint_auth_methods_supported")
    return Published(
        authorization=_endpoint(said, "authorization_endpoint", issuer),
        token=_endpoint(said, "token_endpoint", issuer),
        keys=_endpoint(said, "jwks_uri", issuer),
        posts_secret=isinstance(methods, list)
        and "client_secret_post" in methods
        and "client_secret_basic" not in methods,
        names_itself=said.get("authorization_response_iss_parameter_supported") is True,
    )


def _endpoint(said: Mapping[str, Any], name: str, issuer: str) -> str:
    url = said.get(name)
    if not isinstance(url, str) or flaw_of(url):
        raise PROVIDER_FAILED(f"{name} is no address.")
    if issuer.startswith("https://") and not url.startswith("https://"):
        raise PROVIDER_FAILED(f"{name} is not as safe as the issuer.")
    return url


def _asked(
    method: str, url: str, headers: Mapping[str, str], body: bytes = b""
) -> Mapping[str, Any]:
    """A JSON object that it answered with 200. Redirects are no answer.

    Strangers cause the asking, and a provider may take its time: no connection to the
    database is kept from others meanwhile.
    """
    connection.close()
    try:
        answer = send(
            method, url, headers=headers, body=body, within=WITHIN, most=LARGEST
        )
    except (NotSent, Unanswered) as error:
        raise PROVIDER_FAILED(f"{error.code}.") from error
    return _object(answer)


def _object(answer: Answer) -> Mapping[str, Any]:
    if answer.status != 200:
        raise PROVIDER_FAILED(f"It answered {answer.status}.")
    try:
        said = parse(answer.body, limit=LARGEST)
    except Problem as problem:
        raise PROVIDER_FAILED(problem.title) from problem
    if not isinstance(said, dict):
        raise PROVIDER_FAILED("It answered with no object.")
    return said


def _basic(provider: Provider) -> str:
    """RFC 6749 2.3.1: each part is encoded as in a form, before it is joined."""
    pair = f"{quote_plus(provider.client_id)}:{quote_plus(provider.secret)}"
    return f"Basic {b64encode(pair.encode()).decode()}"


class _Memory:
    """For a minute, what each issuer published, or that it failed to."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[float, Published | Problem]] = {}
        self._lock = Lock()

    def recall(self, issuer: str) -> Published:
        with self._lock:
            at, said = self._kept.get(issuer, (0.0, None))
        if said is None or time.monotonic() - at > KEPT:
            said = self._learn(issuer)
        if isinstance(said, Problem):
            raise said
        return said

    def _learn(self, issuer: str) -> Published | Problem:
        try:
            said: Published | Problem = _discovered(issuer)
        except Problem as problem:
            said = problem
        with self._lock:
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            self._kept[issuer] = (time.monotonic(), said)
        return said

    def forget(self) -> None:
        with self._lock:
            self._kept.clear()


_memory: Final = _Memory()
forget: Final = _memory.forget
