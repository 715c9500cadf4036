"""Sealing what a client of the Agent Approval Protocol wants back as it came.

It is returned to the letter, so nothing is cut out of it. It is read by nobody else:
people see what the request has of it, without credentials.
"""

import json
from typing import Final
from uuid import UUID

from approvals.models import AAPRequest
from kernel.sealing import Unreadable, seal, unseal
from sessions.vault import ITEM_UNREADABLE, session_key

TEXTS: Final = "texts"
NOTE: Final = "note"


def seal_texts(
    known: AAPRequest, texts: dict[str, str | None], *, session_id: UUID
) -> bytes:
    """The texts by name, as they may be stored. Raises `data_erased` (410)."""
    return _sealed(known, TEXTS, json.dumps(texts), session_id)


def open_texts(known: AAPRequest, *, session_id: UUID) -> dict[str, str | None]:
    """The texts by name. Raises `data_erased` (410), `item_unreadable` (409)."""
    texts: dict[str, str | None] = json.loads(
        _opened(known, TEXTS, bytes(known.sealed), session_id)
    )
    return texts


def seal_note(known: AAPRequest, note: str, *, session_id: UUID) -> bytes:
    """Its instance's word on what came of it. Raises `data_erased` (410)."""
    return _sealed(known, NOTE, note, session_id)


def open_note(known: AAPRequest, *, session_id: UUID) -> str:
    """Raises `data_erased` (410), `item_unreadable` (409)."""
    return _opened(known, NOTE, bytes(known.sealed_note), session_id)


def _sealed(known: AAPRequest, part: str, text: str, session_id: UUID) -> bytes:
    key = session_key(known.tenant_id, session_id)
    return seal(key, text.encode(), bound=_place(known, part))


def _opened(known: AAPRequest, part: str, sealed: bytes, session_id: UUID) -> str:
    key = session_key(known.tenant_id, session_id)
    try:
        return unseal(key, sealed, bound=_place(known, part)).decode()
    except Unreadable as error:
        raise ITEM_UNREADABLE("A submission.") from error


def _place(known: AAPRequest, part: str) -> bytes:
    ids = known.tenant_id.bytes + known.id.bytes
    return b"keyturn/aap/v1\0" + ids + part.encode()
