"""The installation's doors, as an agent and as a browser come through them."""

import json
from dataclasses import dataclass
from secrets import token_hex
from typing import Any, Final, Self

import httpx
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore

from oversight.drills.house import House, Human

TIMEOUT: Final = 30  # seconds
BACKEND: Final = "allauth.account.auth_backends.AuthenticationBackend"


@dataclass(frozen=True, slots=True)
class Door:
    """One caller. `headers` prove who it is."""

    url: str
    headers: dict[str, str]

    @classmethod
    def of_agent(cls, url: str, key: str) -> Self:
        return cls(url, {"Authorization": f"Bearer {key}"})

    @classmethod
    def of_member(cls, url: str, house: House, human: Human) -> Self:
        """A page's script in a browser that this person is signed in with."""
        token = token_hex(16)
        cookies = {
            settings.SESSION_COOKIE_NAME: _session(human),
            settings.CSRF_COOKIE_NAME: token,
        }
        return cls(
            url,
            {
                "Cookie": "; ".join("=".join(pair) for pair in cookies.items()),
                "X-CSRFToken": token,
                "Keyturn-Tenant": house.tenant.slug,
                "Origin": url,
            },
        )

    def call(
        self, method: str, path: str, body: Any = None, **headers: str
    ) -> httpx.Response:
        """`headers` have underscores for hyphens. A redirect is an answer like others."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        content = None if body is None else json.dumps(body)
        if content is not None:
            named["Content-Type"] = "application/json"
        with httpx.Client(trust_env=False, timeout=TIMEOUT) as client:
            return client.request(
                method,
                self.url + path,
                content=content,
                headers={**self.headers, **named},
            )

    def get(self, path: str) -> httpx.Response:
        return self.call("GET", path)

    def post(self, path: str, body: Any = None, **headers: str) -> httpx.Response:
        return self.call("POST", path, {} if body is None else body, **headers)


def _session(human: Human) -> str:
    """A session as signing in makes one; nobody of a drill has a password."""
    store = SessionStore()
    store[SESSION_KEY] = str(human.user.pk)
    store[BACKEND_SESSION_KEY] = BACKEND
    store[HASH_SESSION_KEY] = human.user.get_session_auth_hash()
    store.set_expiry(60 * 60)
    store.create()
    assert store.session_key is not None
    return store.session_key
