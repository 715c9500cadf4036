"""People who guard their sign-in with more than a password."""

import re
import time
from typing import Any

from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, format_hotp_value, hotp_value
from django.test import Client

from tenants.models import User

PASSWORD = "correct horse battery staple"
SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
PERIOD = 30


def code_of(secret: str = SECRET, *, steps: int = 0) -> str:
    """The code that the app shows; or showed, or will, `steps` of 30 s from now."""
    return format_hotp_value(hotp_value(secret, int(time.time()) // PERIOD + steps))


def wrong_code(secret: str = SECRET) -> str:
    """Six digits that no step around now has."""
    right = {code_of(secret, steps=n) for n in range(-3, 4)}
    return next(code for code in map("{:06}".format, range(9)) if code not in right)


def with_password(user: User) -> User:
    user.set_password(PASSWORD)
    user.save(update_fields=["password"])
    return user


def with_app(user: User) -> User:
    """Somebody with a password, an app, and recovery codes."""
    return add_app(with_password(user))


def add_app(user: User) -> User:
    """Their password, and so their sessions, stay as they are."""
    TOTP.activate(user, SECRET)
    RecoveryCodes.activate(user)
    return user


def recovery_codes_of(user: User) -> list[str]:
    row = Authenticator.objects.get(user=user, type="recovery_codes")
    return RecoveryCodes(row).get_unused_codes()


def with_password_only(user: User, browser: Client | None = None) -> tuple[Client, Any]:
    """The first step of signing in, and where it leads."""
    browser = browser or Client()
    given = {"login": user.email, "password": PASSWORD}
    return browser, browser.post("/accounts/login/", given)


def signed_in(user: User, *, code: str = "", **headers: str) -> Client:
    """A browser in which the person went through the sign-in pages."""
    browser, answer = with_password_only(user, Client(headers=headers))
    if code:
        answer = browser.post("/accounts/2fa/authenticate/", {"code": code})
    assert answer.status_code == 302, answer.content
    return browser


def shown_secret(answer: Any) -> str:
    """The secret on the page that adds an app."""
    found = re.search(r'id="totp-secret">([A-Z2-7]+)<', answer.content.decode())
    assert found
    return found[1]
