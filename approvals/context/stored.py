"""Summaries that were kept: a derived view, which stands only while its inputs do."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from approvals.models import Summary
from kernel.problems import Problem
from kernel.sealing import Unreadable, seal, unseal
from sessions.models import Item, Session
from sessions.queries import items_between
from sessions.vault import ITEM_UNREADABLE, session_key
from tenants.vault import DATA_KEY_ELSEWHERE


@dataclass(frozen=True, kw_only=True)
class StandingSummary:
    """The newest summary of a session; `stands` is false once its inputs changed."""

    summary: Summary
    text: str
    stands: bool

    @property
    def positions(self) -> range:
        return range(self.summary.first, self.summary.last + 1)


def standing_summary(session: Session, branch: int) -> StandingSummary | None:
    """The newest stored one, compared with the items that it was made of.

    Raises `data_key_elsewhere` (503).
    """
    rows = Summary.objects.filter(tenant_id=session.tenant_id, session_id=session.id)
    rows = rows.filter(branch=branch)
    summary = rows.order_by("-created_at", "-id").first()
    if summary is None:
        return None
    try:
        items = items_between(session, summary.first, summary.last, branch=branch)
        text = opened(summary)
    except Problem as problem:  # erased, or not as it was kept
        if problem.code == DATA_KEY_ELSEWHERE.code:
            raise
        return StandingSummary(summary=summary, text="", stands=False)
    stands = inputs_digest(items) == bytes(summary.inputs)
    return StandingSummary(summary=summary, text=text, stands=stands)


def sealed(summary: Summary, text: str) -> bytes:
    """The text as it may be stored. Raises `data_erased` (410)."""
    key = session_key(summary.tenant_id, summary.session_id)
    return seal(key, text.encode(), bound=_place(summary))


def opened(summary: Summary) -> str:
    """Its text. Raises `data_erased` (410), `item_unreadable` (409)."""
    key = session_key(summary.tenant_id, summary.session_id)
    try:
        return unseal(key, bytes(summary.sealed), bound=_place(summary)).decode()
    except Unreadable as error:
        raise ITEM_UNREADABLE("A summary.") from error


def _place(summary: Summary) -> bytes:
    return b"keyturn/summary/v1\0" + summary.tenant_id.bytes + summary.id.bytes


def inputs_digest(items: Sequence[Item]) -> bytes:
    """What a summary was made of, 32 bytes: each item by its id, place and text."""
    digest = hashlib.sha256(b"keyturn/summary/v1\0")
    for item in items:
        text = hashlib.sha256(item.raw.encode(errors="surrogatepass")).digest()
        digest.update(item.id.bytes + item.position.to_bytes(8) + text)
    return digest.digest()
