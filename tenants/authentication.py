"""Proving who asks: an agent by its key, a member by their browser session.

A key is looked up by its digest, which gives ids and nothing else; everything that
matters is then read under the tenant's own row-level security. What is not a live key
of this installation gets one and the same answer, whatever is wrong with it.
"""

import hmac
import time
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from allauth.account.authentication import get_authentication_records
from django.db import connection
from django.http import HttpRequest, QueryDict
from django.utils.datastructures import MultiValueDict
from rest_framework.authentication import BaseAuthentication, CSRFCheck
from rest_framework.request import Request

from kernel.outcome import Refused
from kernel.problems import Problem, declare
from kernel.scope import tenant_transaction
from tenants import keys
from tenants.access import Membership, open_member
from tenants.checks import key_standing
from tenants.models import ApiKey, User
from tenants.principal import Person, Principal
from tenants.queries import keys_now
from tenants.services.credentials import is_to_be_noted, note_uses

REALM: Final = 'realm="keyturn"'
SINGLE_SIGN_ON: Final = "single_sign_on"
TENANT_HEADER: Final = "Keyturn-Tenant"

NOT_AUTHENTICATED: Final = declare(
    "not_authenticated", status=401, title="You have not said who you are"
)
KEY_INVALID: Final = declare(
    "key_invalid", status=401, title="This API key is not valid here"
)
TENANT_REQUIRED: Final = declare(
    "tenant_required", status=400, title=f"The header {TENANT_HEADER} is missing"
)
AGENTS_CANNOT_DECIDE: Final = declare(
    "agents_cannot_decide", status=403, title="Only people decide"
)
CSRF_FAILED: Final = declare(
    "csrf_failed", status=403, title="This did not come from a page of ours"
)

# Whoever holds a whole key may learn why it no longer works.
declare("key_revoked", status=401, title="This API key was revoked")
declare("key_expired", status=401, title="This API key has expired")
declare("agent_disabled", status=401, title="The agent of this API key is disabled")


_LOOK_UP: Final = """
SELECT given, tenant_id, key_id FROM unnest(%s::bytea[]) given, LATERAL keyturn_key(given)
"""


def authenticate_key(header: str | None) -> Principal:
    """The agent that an `Authorization` header proves, as of now. Synchronous.

    Raises 401 `not_authenticated` without a bearer key, `key_invalid` for anything
    that is no key of ours, and why a key of ours is dead: `key_revoked`,
    `key_expired`, `agent_disabled`, `tenant_stopped`.
    """
    text = key_in(header)
    claim = claims([text])[text]
    if isinstance(claim, Problem):
        raise claim
    principal = authenticate_all(claim.tenant_id, [claim])[claim]
    if isinstance(principal, Problem):
        raise principal
    return principal


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A key that was issued here, and whose. Whether it is live is another question."""

    text: str = field(repr=False)
    tenant_id: UUID
    key_id: UUID


def key_in(header: str | None) -> str:
    """The text of a key. Raises as `authenticate_key` does, without any query."""
    scheme, _, text = (header or "").partition(" ")
    if scheme.lower() != "bearer":
        raise NOT_AUTHENTICATED("Send an API key: `Authorization: Bearer kt_…`.")
    if keys.parse(text.strip()) is None:
        raise KEY_INVALID()
    return text.strip()


def claims(texts: Collection[str]) -> dict[str, Claim | Problem]:
    """By their texts, the ids of keys: one query. Synchronous."""
    hashes = {keys.digest_of(text): text for text in texts}
    with connection.cursor() as cursor:
        cursor.execute(_LOOK_UP, [list(hashes)])
        found = {
            (text := hashes[bytes(hash)]): Claim(
                text=text, tenant_id=tenant_id, key_id=key_id
            )
            for hash, tenant_id, key_id in cursor.fetchall()
        }
    return {text: found.get(text) or KEY_INVALID() for text in texts}


def authenticate_all(
    tenant_id: UUID, claims: Collection[Claim]
) -> dict[Claim, Principal | Problem]:
    """Of each of one tenant's keys, its agent as of now, or why it is dead."""
    with tenant_transaction(tenant_id):
        live = keys_now(tenant_id, {claim.key_id for claim in claims})
    found = {claim: _outcome(claim, live.get(claim.key_id)) for claim in claims}
    alive = {one.key_id for one in found.values() if isinstance(one, Principal)}
    note_uses(tenant_id, {id for id in alive if is_to_be_noted(*live[id][1:])})
    return found


def _outcome(
    claim: Claim, live: tuple[ApiKey, datetime, datetime | None] | None
) -> Principal | Problem:
    if live is None or not _is(claim.text, live[0]):
        return KEY_INVALID()
    outcome = key_standing(*live[:2])
    if isinstance(outcome, Refused):
        return Problem(outcome.code, status=401, detail=outcome.reason)
    return _principal(live[0])


def person_of(request: HttpRequest, user: User, membership: Membership) -> Person:
    """The member behind a browser session, and how they proved who they are."""
    records = get_authentication_records(request, user)
    proofs = [each for each in records if _proves(each, membership)]
    newest = max((each["at"] for each in proofs), default=None)
    return Person(
        tenant_id=membership.tenant_id,
        member_id=membership.member_id,
        user_id=membership.user_id,
        authenticated_ago=None if newest is None else time.time() - newest,
        methods=methods_of(request, user),
        factors=membership.factors,
        identity=membership.identity,
    )


def methods_of(request: HttpRequest, user: User) -> tuple[str, ...]:
    """What this session was proved with, each once, the newest last.

    `password`, `totp`, `webauthn`, `recovery_codes`, `single_sign_on`.
    """
    records = get_authentication_records(request, user)
    named = [each.get("type", each["method"]) for each in records]
    return tuple(reversed(dict.fromkeys(reversed(named))))


def _proves(record: dict[str, Any], membership: Membership) -> bool:
    """Whoever has a second factor has proved nothing by a password alone, and whoever
    came by a provider nothing without it."""
    if membership.identity is not None:
        return bool(record["method"] == SINGLE_SIGN_ON)
    return record["method"] == "mfa" or not membership.factors


class KeyAuthentication(BaseAuthentication):
    """`Authorization: Bearer kt_…`; the principal is both `user` and `auth`."""

    def authenticate(self, request: Request) -> tuple[Principal, Principal] | None:
        header = request.headers.get("Authorization")
        if header is None:
            return None
        principal = authenticate_key(header)
        return principal, principal

    def authenticate_header(self, request: Request) -> str:
        return f"Bearer {REALM}"


class MemberAuthentication(BaseAuthentication):
    """A signed-in member: session cookie, CSRF token, and the tenant in a header.

    The tenant is named because a person may belong to several. Any `Authorization`
    header is refused unread: a key, good or bad, never stands for a person.
    """

    def authenticate(self, request: Request) -> tuple[User, Person] | None:
        if "Authorization" in request.headers:
            raise AGENTS_CANNOT_DECIDE()
        user = getattr(request._request, "user", None)
        if not isinstance(user, User):
            return None
        _enforce_csrf(request._request)
        slug = request.headers.get(TENANT_HEADER)
        if not slug:
            raise TENANT_REQUIRED()
        return user, person_of(
            request._request, user, open_member(request._request, slug)
        )

    def authenticate_header(self, request: Request) -> str:
        return f"Cookie {REALM}"


def _is(text: str, key: ApiKey) -> bool:
    return hmac.compare_digest(bytes(key.hash), keys.digest_of(text))


def _principal(key: ApiKey) -> Principal:
    return Principal(
        tenant_id=key.tenant_id,
        agent_id=key.agent_id,
        key_id=key.id,
        environment=key.environment,
        scopes=frozenset(key.scopes),
    )


def _enforce_csrf(request: HttpRequest) -> None:
    # The token comes in the header. Looking for it in a form would read the body.
    request._post, request._files = QueryDict(), MultiValueDict()  # type: ignore[attr-defined]

    def answer(_: HttpRequest) -> Any:  # pragma: no cover - the check needs one
        return None

    check = CSRFCheck(answer)
    check.process_request(request)
    reason = check.process_view(request, answer, (), {})
    if reason:
        raise CSRF_FAILED(f"{reason}")
