"""What an ID token says, once it is certain that the provider said it to us, now.

Pure: the keys were fetched by others. Every rule of OpenID Connect Core 3.1.3.7 that
concerns us is asked for, and what is missing counts as wrong.
"""

import hmac
from collections.abc import Iterable, Mapping
from typing import Any, Final

import jwt
from jwt import PyJWK

from kernel.problems import Problem
from tenants.services.entering import Told
from tenants.services.names import checked_email

# No `none`, and no shared secret: whoever can check must not be able to sign.
ALGORITHMS: Final = frozenset(
    {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"}
)
LEEWAY: Final = 60  # seconds that two clocks may differ
SMALLEST_RSA: Final = 2048  # bits
# What a public key consists of (RFC 7518 6); of RSA up to 8192 bits are taken.
PUBLIC: Final = ("kty", "kid", "n", "e", "crv", "x", "y")
LONGEST_MEMBER: Final = 1_500  # characters, of base64
LONGEST_SUBJECT: Final = 255
MOST_GROUPS: Final = 1_000
REQUIRED: Final = ("iss", "sub", "aud", "exp", "iat", "nonce")


class TokenRefused(Exception):
    """The token proves nothing. The message names why, for people who set it up."""


def checked_claims(
    token: str,
    keys: Iterable[object],
    *,
    issuer: str,
    client_id: str,
    nonce: str,
) -> Mapping[str, Any]:
    """The claims of a token that is for us and this very sign-in. Raises TokenRefused."""
    try:
        header = jwt.get_unverified_header(token)
        key = _key(header, keys)
        claims: dict[str, Any] = jwt.decode(
            token,
            key,
            algorithms=[str(header["alg"])],
            audience=client_id,
            issuer=issuer,
            leeway=LEEWAY,
            options={"require": list(REQUIRED)},
        )
    except (jwt.PyJWTError, ValueError, TypeError, KeyError) as error:
        raise TokenRefused(f"{type(error).__name__}: {error}") from error
    _refuse(claims, client_id=client_id, nonce=nonce)
    return claims


def authenticated_ago(claims: Mapping[str, Any]) -> float | None:
    """Seconds from the person's proof to the token, both by the provider's own clock.

    None where it does not say. Raises TokenRefused for a time that is none.
    """
    then, issued = claims.get("auth_time"), claims["iat"]
    if then is None:
        return None
    if not _is_number(then) or not _is_number(issued) or then > issued + LEEWAY:
        raise TokenRefused("auth_time is no time before the token's.")
    try:
        return max(0.0, float(issued) - float(then))
    except OverflowError as error:
        raise TokenRefused("auth_time is no time at all.") from error


def told_by(claims: Mapping[str, Any], groups_claim: str) -> Told:
    """The parts of it that are used, cut to what a row can keep."""
    email = _email(claims.get("email"))
    named = (claims.get("name"), claims.get("preferred_username"), email)
    name = next(filter(None, (_text(one, 200) for one in named)), "Member")
    return Told(
        issuer=claims["iss"],
        subject=claims["sub"],
        name=name,
        email=email,
        groups=_groups(claims.get(groups_claim)) if groups_claim else frozenset(),
    )


def _key(header: Mapping[str, Any], keys: Iterable[object]) -> PyJWK:
    """The provider's one signing key that the token names. Raises TokenRefused."""
    algorithm, kid = header.get("alg"), header.get("kid")
    if algorithm not in ALGORITHMS:
        raise TokenRefused("It is not signed with a key pair that is taken here.")
    fitting = [
        one
        for one in keys
        if isinstance(one, dict)
        and one.get("use", "sig") == "sig"
        and one.get("alg", algorithm) == algorithm
        and (kid is None or one.get("kid") == kid)
    ]
    if len(fitting) != 1:
        raise TokenRefused(f"{len(fitting)} keys of the provider fit it.")
    key = PyJWK(_public(fitting[0]), algorithm=algorithm)
    if getattr(key.key, "key_size", SMALLEST_RSA) < SMALLEST_RSA and _is_rsa(algorithm):
        raise TokenRefused("The provider's key is too small.")
    return key


def _public(key: Mapping[str, Any]) -> dict[str, str]:
    """The public half, where it is of a usual size.

    Of a private one the library would find the factors, which takes as long as whoever
    made the key wants, while nobody else's thread runs.
    """
    said = {name: key[name] for name in PUBLIC if name in key}
    for member in said.values():
        if not isinstance(member, str) or len(member) > LONGEST_MEMBER:
            raise TokenRefused("The provider's key is no usual one.")
    return said


def _is_rsa(algorithm: str) -> bool:
    return algorithm[:2] in {"RS", "PS"}


def _refuse(claims: Mapping[str, Any], *, client_id: str, nonce: str) -> None:
    subject, said = claims["sub"], claims["nonce"]
    if not isinstance(subject, str) or not 1 <= len(subject) <= LONGEST_SUBJECT:
        raise TokenRefused("sub is no name of a person.")
    if not subject.isprintable():
        raise TokenRefused("sub has characters that nobody can see.")
    if not isinstance(said, str) or not _same(said, nonce):
        raise TokenRefused("nonce is another sign-in's.")
    several = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
    if claims.get("azp", None if several else client_id) != client_id:
        raise TokenRefused("azp is another client.")


def _same(said: str, known: str) -> bool:
    """In constant time; also of a text that no bytes can hold."""
    return hmac.compare_digest(said.encode(errors="replace"), known.encode())


def _groups(value: object) -> frozenset[str]:
    """Of a text or a list of texts. Anything else is no group at all."""
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list):
        return frozenset()
    return frozenset(one for one in listed[:MOST_GROUPS] if isinstance(one, str))


def _text(value: object, most: int) -> str:
    """A text that people can read as one line; else nothing."""
    if not isinstance(value, str):
        return ""
    trimmed = value.strip()
    return trimmed if trimmed.isprintable() and len(trimmed) <= most else ""


def _email(value: object) -> str:
    """An address as everybody's is checked here; else nothing."""
    try:
        return checked_email(value.strip()) if isinstance(value, str) else ""
    except Problem:
        return ""


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
