"""Passwords of tests: as production keeps them, in a thousand rounds and not a million."""

from django.contrib.auth.hashers import PBKDF2PasswordHasher


class FewRounds(PBKDF2PasswordHasher):
    """A hash a millisecond: how long one takes is no behaviour of ours."""

    iterations = 1_000
