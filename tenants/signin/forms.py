"""Forms of signing in: secrets stay sealed, and each code counts once."""

from typing import Any, Final

from allauth.account import forms as account
from allauth.core import context
from allauth.mfa.adapter import get_adapter
from allauth.mfa.base import forms as base
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.forms import ActivateTOTPForm
from allauth.mfa.totp.internal import auth
from allauth.mfa.utils import decrypt, encrypt
from django import forms
from django.db.models import Q

SECRET: Final = auth.SECRET_SESSION_KEY
USED: Final = "step"  # of a TOTP authenticator's data: the newest step that was used


class LoginForm(account.LoginForm):  # type: ignore[misc]  # is untyped
    """One types at once: nothing else is to be done on its page."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["login"].widget.attrs["autofocus"] = True


class ActivateForm(ActivateTOTPForm):  # type: ignore[misc]  # is untyped
    """The secret that is being agreed on waits in the session, sealed."""

    def __init__(self, *args: Any, user: Any, **kwargs: Any) -> None:
        self.user = user
        forms.Form.__init__(self, *args, **kwargs)
        session = context.request.session
        if not self.is_bound or SECRET not in session:
            session[SECRET] = encrypt(auth.generate_totp_secret())
        self.secret = decrypt(session[SECRET])


class OneTime:
    """A form whose TOTP code is refused when it, or a later one, was used before.

    allauth remembers used codes in the memory of one process; the row is for all.
    """

    authenticator: Authenticator

    def clean_code(self) -> str:
        code: str = super().clean_code()  # type: ignore[misc]  # of the form beside it
        if self.authenticator.type == Authenticator.Type.TOTP:
            self._use(code)
        return code

    def _use(self, code: str) -> None:
        data = self.authenticator.data
        step = _step(decrypt(data["secret"]), code)
        rows = Authenticator.objects.filter(pk=self.authenticator.pk)
        unused = Q(data__step__isnull=True) | Q(data__step__lt=step)
        # As it was read: a rotation may have sealed the secret again meanwhile.
        as_read = rows.filter(unused, data=data)
        if step < 0 or not as_read.update(data={**data, USED: step}):
            raise get_adapter().validation_error("incorrect_code")


class AuthenticateForm(OneTime, base.AuthenticateForm):  # type: ignore[misc]
    """Second step of signing in."""


class ReauthenticateForm(OneTime, base.ReauthenticateForm):  # type: ignore[misc]
    """Proving it again."""


def _step(secret: str, code: str) -> int:
    """Which step of 30 seconds the code is of; -1 if it ended while it was looked at."""
    steps = auth.yield_hotp_counters_from_time()
    return next((s for s in steps if _is_of(secret, s, code)), -1)


def _is_of(secret: str, step: int, code: str) -> bool:
    value = auth.format_hotp_value(auth.hotp_value(secret, step))
    return bool(auth.compare_user_code(actual=code, expected=value))
