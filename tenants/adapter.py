"""What signing in means here: nobody gets in without it being on the record."""

from typing import Any, Final

from allauth.account.adapter import DefaultAccountAdapter
from allauth.mfa.models import Authenticator
from allauth.mfa.utils import is_mfa_enabled
from allauth.usersessions.models import UserSession
from django.contrib.auth.base_user import AbstractBaseUser
from django.http import HttpRequest

from tenants.access import DOOR, entered_by, open_memberships
from tenants.authentication import methods_of
from tenants.models import User
from tenants.services import record_sign_in

CODE: Final = "mfa_reauthenticate"
PASSKEY: Final = "mfa_reauthenticate:webauthn"

type Method = dict[str, Any]


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # is untyped
    """Named by the setting ACCOUNT_ADAPTER."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """People are invited into a tenant; nobody walks in."""
        return False

    def login(self, request: HttpRequest, user: AbstractBaseUser) -> None:
        """Begin the session, once each of the person's tenants has recorded it."""
        if isinstance(user, User):
            for membership in open_memberships(request, user):
                record_sign_in(membership, methods_of(request, user))
        super().login(request, user)
        UserSession.objects.create_from_request(request)
        if identity := entered_by(request):
            rows = UserSession.objects.filter(session_key=request.session.session_key)
            rows.update(data={DOOR: str(identity)})

    def get_reauthentication_methods(self, user: Any) -> list[Method]:
        """Whoever has a second factor proves it by that: a password is soon watched."""
        methods: list[Method] = super().get_reauthentication_methods(user)
        second = [one for one in methods if one["id"].startswith("mfa_")]
        return _by_habit(user, second) or methods


def _by_habit(user: Any, methods: list[Method]) -> list[Method]:
    """A code first for people with an app; a passkey first for all others."""
    first = CODE if is_mfa_enabled(user, [Authenticator.Type.TOTP]) else PASSKEY
    return sorted(methods, key=lambda one: one["id"] != first)
