"""A sign-in that is under way: what this browser's session remembers of it."""

import hmac
import secrets
import time
from base64 import urlsafe_b64encode
from dataclasses import asdict, dataclass
from enum import StrEnum
from hashlib import sha256
from typing import Any, Final
from urllib.parse import urlencode

from django.http import HttpRequest

KEY: Final = "single_sign_on"  # of a session: the sign-ins under way, by their state
MOST: Final = 5  # at once, in as many tabs
LONGEST: Final = 15 * 60  # seconds


class Purpose(StrEnum):
    ENTER = "enter"
    PROVE = "prove"
    CONNECT = "connect"


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """One sign-in. `issuer` and `client_id` are those that it was begun with."""

    slug: str
    issuer: str
    client_id: str
    nonce: str
    verifier: str
    purpose: str
    onward: str
    link: str
    began: float
    """By this clock: how long ago, and nothing else, is what it is asked."""

    def ago(self) -> float:
        return time.time() - self.began


def begin(
    request: HttpRequest,
    *,
    slug: str,
    issuer: str,
    client_id: str,
    purpose: Purpose,
    onward: str,
    link: str = "",
) -> tuple[str, Begun]:
    """Remember a sign-in, and give its state."""
    state = secrets.token_urlsafe(32)
    begun = Begun(
        slug=slug,
        issuer=issuer,
        client_id=client_id,
        nonce=secrets.token_urlsafe(32),
        verifier=secrets.token_urlsafe(48),
        purpose=purpose.value,
        onward=onward,
        link=link,
        began=time.time(),
    )
    kept = dict(list(_kept(request).items())[-(MOST - 1) :])
    request.session[KEY] = {**kept, state: asdict(begun)}
    return state, begun


def take(request: HttpRequest, state: str) -> Begun | None:
    """The sign-in of that state, once; None for one that was not begun here lately."""
    kept = _kept(request)
    known = next(
        (one for one in kept if hmac.compare_digest(one.encode(), state.encode())), None
    )
    if known is None:
        return None
    begun = Begun(**kept.pop(known))
    request.session[KEY] = kept
    return begun if 0 <= begun.ago() <= LONGEST else None


def question(begun: Begun, *, endpoint: str, state: str, redirect: str) -> str:
    """Where the browser goes. A proof asks for a new one, not for the provider's session."""
    asked = {
        "response_type": "code",
        "scope": "openid profile email",
        "client_id": begun.client_id,
        "redirect_uri": redirect,
        "state": state,
        "nonce": begun.nonce,
        "code_challenge": _challenge(begun.verifier),
        "code_challenge_method": "S256",
    }
    if begun.purpose != Purpose.ENTER:
        asked |= {"prompt": "login", "max_age": "0"}
    joint = "&" if "?" in endpoint else "?"
    return f"{endpoint}{joint}{urlencode(asked)}"


def _challenge(verifier: str) -> str:
    digest = sha256(verifier.encode()).digest()
    return urlsafe_b64encode(digest).decode().rstrip("=")


def _kept(request: HttpRequest) -> dict[str, Any]:
    return dict(request.session.get(KEY, {}))
