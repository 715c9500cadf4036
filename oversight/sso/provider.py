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
from oversight.sso.turns import turn
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


def published(provider: Provider) -> Published:
    """Raises `sso.provider_failed` (502), also from memory, and `sso.busy` (503)."""
    return _memory.recall(provider)


def id_token(
    provider: Provider, known: Published, *, code: str, verifier: str, redirect: str
) -> str:
    """The ID token for a code. Raises `sso.provider_failed` (502), `sso.busy` (503)."""
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
    body = urlencode(form).encode()
    answer = _asked(provider, "POST", known.token, headers, body)
    token = answer.get("id_token")
    if not isinstance(token, str):
        raise PROVIDER_FAILED("It gave no ID token.")
    return token


def signing_keys(provider: Provider, known: Published) -> list[object]:
    """Its keys as they are now (RFC 7517). Raises as `id_token`."""
    said = _asked(provider, "GET", known.keys, {"Accept": "application/json"})
    keys = said.get("keys")
    if not isinstance(keys, list):
        raise PROVIDER_FAILED("It publishes no keys.")
    return keys


def _discovered(provider: Provider) -> Published:
    issuer = provider.issuer
    place = f"{issuer.rstrip('/')}/.well-known/openid-configuration"
    said = _asked(provider, "GET", place, {"Accept": "application/json"})
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
    provider: Provider,
    method: str,
    url: str,
    headers: Mapping[str, str],
    body: bytes = b"",
) -> Mapping[str, Any]:
    """A JSON object that it answered with 200. Redirects are no answer.

    Strangers cause the asking, and a provider may take its time: no connection to the
    database is kept from others meanwhile, and no more than one thread. Neither a tenant
    that names one provider after the other nor one that several name has more.
    """
    connection.close()
    given: dict[str, Any] = {"headers": headers, "body": body}
    try:
        with turn(str(provider.tenant_id), provider.issuer):
            answer = send(method, url, within=WITHIN, most=LARGEST, **given)
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
    """For a minute, what each issuer published, or how it failed to: an error that is
    raised again and again would keep what each of them saw."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[float, Published | str]] = {}
        self._lock = Lock()

    def recall(self, provider: Provider) -> Published:
        with self._lock:
            at, said = self._kept.get(provider.issuer, (0.0, None))
        if said is None or time.monotonic() - at > KEPT:
            said = self._learn(provider)
        if isinstance(said, str):
            raise PROVIDER_FAILED(said)
        return said

    def _learn(self, provider: Provider) -> Published | str:
        try:
            said: Published | str = _discovered(provider)
        except Problem as problem:
            if problem.code != PROVIDER_FAILED.code:
                raise  # not asked
            said = problem.detail
        with self._lock:
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            self._kept[provider.issuer] = (time.monotonic(), said)
        return said

    def forget(self) -> None:
        with self._lock:
            self._kept.clear()


_memory: Final = _Memory()
forget: Final = _memory.forget
