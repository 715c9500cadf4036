"""Same key and same body: the stored answer. The key is claimed inside the verb."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from kernel.locks import try_request_key
from kernel.problems import Problem
from tenants.models import IdempotencyRecord


class Replayed(Exception):
    """This request was answered before; here is that answer."""

    def __init__(self, status: int, body: str) -> None:
        super().__init__(f"answered before with {status}")
        self.status = status
        self.body = body


@dataclass(kw_only=True)
class Once:
    """A request that must not be carried out twice, as far as it has a key.

    `render` turns the verb's result into (status, JSON text); it runs inside the
    transaction, so that the answer is stored if and only if the work is. It runs
    without a key too: after the commit, the tenant's rows cannot be seen any more.
    """

    principal: UUID
    key: str | None
    body_hash: bytes
    render: Callable[[Any], tuple[int, str]]
    answer: tuple[int, str] | None = None


def kept_key(key: str) -> str:
    """What a key is known by: a caller may have put anything into it."""
    return hashlib.sha256(key.encode()).hexdigest()


def check_once(tenant_id: UUID, once: Once | None) -> None:
    """Claim the key for this transaction.

    Raises `Replayed` with the stored answer, `idempotency_mismatch` (422) when the
    body was another, `idempotency_in_flight` (409) while the first is under way.
    """
    if once is None or once.key is None:
        return
    if not try_request_key(tenant_id, once.principal, once.key):
        raise Problem("idempotency_in_flight")
    record = _find(tenant_id, once)
    if record is None:
        return
    if bytes(record.body_hash) != once.body_hash:
        raise Problem("idempotency_mismatch")
    raise Replayed(record.status, record.response)


def _find(tenant_id: UUID, once: Once) -> IdempotencyRecord | None:
    return IdempotencyRecord.objects.filter(
        tenant_id=tenant_id, principal=once.principal, key=once.key
    ).first()


def _is_passing(result: Any, status: int) -> bool:
    """A fault of ours, or a refusal that ends by waiting."""
    waits = isinstance(result, Problem) and result.extra.get("class") == "wait"
    return waits or status >= 500


def keep_once(tenant_id: UUID, once: Once | None, result: Any) -> None:
    """Render the answer, and store it, in the verb's own transaction.

    An answer that may be another one later is given, and not kept.
    """
    if once is None:
        return
    once.answer = status, response = once.render(result)
    if once.key is None or _is_passing(result, status):
        return
    IdempotencyRecord.objects.create(
        tenant_id=tenant_id,
        principal=once.principal,
        key=once.key,
        body_hash=once.body_hash,
        status=status,
        response=response,
    )
