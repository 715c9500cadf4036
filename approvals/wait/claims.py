"""Whose key it is, and whether it may read: found out for all who ask at once."""

from collections.abc import Collection
from typing import Final
from uuid import UUID

from kernel.problems import Problem
from kernel.together import Together
from tenants.authentication import Claim, authenticate_all, claims, key_in
from tenants.principal import Principal
from tenants.rest.views import require_scope
from tenants.scopes import READ

_claims: Final = Together[None, str, Claim](lambda _, texts: claims(texts))


async def claimed(credential: str | None) -> Claim:
    """The key in an `Authorization` header. Raises 401 for anything else."""
    return await _claims.ask(None, key_in(credential))


def readers(
    tenant_id: UUID, claims: Collection[Claim]
) -> dict[Claim, Principal | Problem]:
    """Of each of one tenant's keys, its agent as of now, or why it may not read."""
    found = authenticate_all(tenant_id, claims)
    return {claim: _reader(outcome) for claim, outcome in found.items()}


def _reader(outcome: Principal | Problem) -> Principal | Problem:
    try:
        if isinstance(outcome, Principal):
            require_scope(outcome, READ)
    except Problem as refusal:
        return refusal
    return outcome
