"""What a call is, and how it is put together."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Any, Generic, TypeVar
from urllib.parse import quote
from uuid import uuid4

from keyturn import documents, exact
from keyturn.asks import given
from keyturn.documents import Page

T = TypeVar("T")

_KEY = re.compile(r"[\x21-\x7e]{1,255}")


@dataclass(frozen=True, slots=True)
class Answer:
    """A success: its status and JSON, or the bytes where those were asked for.

    `clock` is what the server's clock said, at the latest, when it arrived; None if the
    server did not say. `tag` names this state of the document (ETag).
    """

    status: int
    document: Any = field(repr=False)
    clock: datetime | None = None
    tag: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Generic[T]):
    """One request; a POST always has a `key`, so that it may be sent again.

    `kind` is the type of its content, `more` what else stands in headers; `raw` asks
    for the answer's bytes.
    """

    method: str
    path: str
    read: Callable[[Answer], T]
    query: Mapping[str, str | int] = field(default_factory=dict)
    content: bytes | None = None
    key: str | None = None
    fence: int | None = None
    kind: str = "application/json"
    more: Mapping[str, str] = field(default_factory=dict)
    raw: bool = False

    def headers(self) -> dict[str, str]:
        told = dict(self.more)
        if self.content is not None:
            told["Content-Type"] = self.kind
        if self.key is not None:
            told["Idempotency-Key"] = self.key
        if self.fence is not None:
            told["Keyturn-Fence"] = str(self.fence)
        return told


def key_from(*words: str) -> str:
    """An idempotency key from words of any kind: the same ones, the same key."""
    text = "/".join(words)
    return text if _KEY.fullmatch(text) else sha256(text.encode()).hexdigest()


def get(kind: type[T], path: str, **query: Any) -> Call[T]:
    return Call(
        method="GET",
        path=path,
        query=given(**query),
        read=lambda answer: documents.read(kind, answer.document),
    )


def listed(kind: type[T], path: str, **query: Any) -> Call[Page[T]]:
    return Call(
        method="GET",
        path=path,
        query=given(**query),
        read=lambda answer: documents.read_page(kind, answer.document),
    )


def post(
    kind: type[T],
    path: str,
    body: dict[str, Any] | bytes,
    key: str | None,
    fence: int | None = None,
) -> Call[T]:
    return Call(
        method="POST",
        path=path,
        content=body if isinstance(body, bytes) else exact.encode(body),
        key=key_of(key),
        fence=fence,
        read=lambda answer: documents.read(kind, answer.document),
    )


def key_of(key: str | None) -> str:
    return uuid4().hex if key is None else key_from(key)


def path_of(*words: str) -> str:
    """Words come from outside: one with a slash must not become another address."""
    return "/".join(_segment(word) for word in words)


def _segment(word: str) -> str:
    if word in ("", ".", ".."):
        raise ValueError(f"{word!r} names nothing")
    return quote(word, safe="")
