"""Sealing what a session keeps for others, under a key of its own.

A session's key is derived from its tenant's and from a random salt in its row. To erase
a session, or all that a person's sessions hold, their salts are destroyed: what was
sealed stays unreadable, in whatever copy of its row.
"""

import hmac
from collections.abc import Sequence
from typing import Final
from uuid import UUID

from django.db.models import OuterRef, Subquery

from kernel.problems import declare
from kernel.sealing import Unreadable, derived_key, seal, unseal
from sessions.models import Item, Session
from tenants.models import DataKey
from tenants.vault import DATA_ERASED, opened, tenant_key

ITEM_UNREADABLE: Final = declare(
    "item_unreadable", status=409, title="An item is not as it was added"
)
PLACED: Final = b"\x02"  # before what `kernel.sealing` begins with its own version, 1
_PURPOSE: Final = b"keyturn/session-key/v1"
_FINGERPRINT: Final = b"keyturn/session-fingerprint/v1"


def session_key(tenant_id: UUID, session_id: UUID) -> bytes:
    """The session's key, 32 bytes, in one query. Inside the tenant's scope.

    Raises `data_erased` (410) once the session's or the tenant's was destroyed.
    """
    sessions = Session.objects.filter(tenant_id=tenant_id, id=session_id)
    salt, wrapped = sessions.values_list("salt", _wrapped()).get()
    return key_from(tenant_id, session_id, salt=salt, wrapped=wrapped)


def key_from(
    tenant_id: UUID, session_id: UUID, *, salt: bytes, wrapped: bytes | None
) -> bytes:
    """As `session_key`, from the session's salt and `DataKey.wrapped`, if it is there."""
    if not salt:
        raise DATA_ERASED()
    key = (
        tenant_key(tenant_id) if wrapped is None else opened(tenant_id, bytes(wrapped))
    )
    purpose = _PURPOSE + session_id.bytes
    return derived_key(key, salt=bytes(salt), purpose=purpose)


def session_fingerprint(tenant_id: UUID, session_id: UUID, content: bytes) -> str:
    """What stands in the audit log for a content that can be erased.

    Once its session is, nobody can try guesses at it. Raises as `session_key`.
    """
    own = session_key(tenant_id, session_id)
    key = derived_key(own, salt=session_id.bytes, purpose=_FINGERPRINT)
    return hmac.digest(key, content, "sha256").hex()


def seal_items(items: Sequence[Item], *, session: Session) -> None:
    """Put each item's `raw` into `sealed`, as it may be stored."""
    if not items:
        return
    key = session_key(session.tenant_id, session.id)
    for item in items:
        item.sealed = PLACED + seal(key, item.raw.encode(), bound=_place(item))


def open_items(items: list[Item], *, session_id: UUID) -> list[Item]:
    """Items of one session, each with its `raw` text. Raises `item_unreadable` (409)."""
    sealed = [item for item in items if item.sealed is not None]
    if sealed:
        key = session_key(sealed[0].tenant_id, session_id)
        for item in sealed:
            item.raw = _opened(key, item)
    return items


def _opened(key: bytes, item: Item) -> str:
    assert item.sealed is not None
    sealed = bytes(item.sealed)
    marked = sealed.startswith(PLACED)
    text, bound = (
        (sealed[len(PLACED) :], _place(item)) if marked else (sealed, _id(item))
    )
    try:
        return unseal(key, text, bound=bound).decode()
    except Unreadable as error:
        raise ITEM_UNREADABLE(f"Item {item.position}.") from error


def _place(item: Item) -> bytes:
    """Which item, and where it is said: neither can change without being found."""
    where = f"{item.branch}/{item.position}".encode()
    return b"keyturn/item/v2\0" + item.tenant_id.bytes + item.id.bytes + where


def _id(item: Item) -> bytes:
    """What was sealed before its place was bound to it has no mark, and only this."""
    return b"keyturn/item/v1\0" + item.tenant_id.bytes + item.id.bytes


def _wrapped() -> Subquery:
    keys = DataKey.objects.filter(tenant_id=OuterRef("tenant_id"))
    return Subquery(keys.values("wrapped"))
