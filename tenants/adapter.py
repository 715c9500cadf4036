"""What signing in means here: nobody gets in without it being on the record."""

from allauth.account.adapter import DefaultAccountAdapter
from django.contrib.auth.base_user import AbstractBaseUser
from django.http import HttpRequest

from tenants.access import memberships
from tenants.models import User
from tenants.services import record_sign_in


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # is untyped
    """Named by the setting ACCOUNT_ADAPTER."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """People are invited into a tenant; nobody walks in."""
        return False

    def login(self, request: HttpRequest, user: AbstractBaseUser) -> None:
        """Begin the session, once each of the person's tenants has recorded it."""
        if isinstance(user, User):
            for membership in memberships(user):
                record_sign_in(membership)
        super().login(request, user)
