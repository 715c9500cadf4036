"""Sessions: what was said in them, and what a model is shown of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    id: str
    subject: str
    title: str
    external_id: str | None
    state: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    id: str
    position: int
    run: str | None
    data: Any
    created_at: datetime
    fence: int | None
    branch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Items:
    """The latest items, in their order; `more` says that earlier ones exist."""

    items: tuple[Item, ...]
    more: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    id: str
    position: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    items: tuple[Place, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Popped:
    """The item that was taken back, or None where there was none."""

    item: Item | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    removed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    number: int
    origin: int
    at: int
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    id: str
    session: str
    branch: int
    first: int
    last: int
    inputs: str
    method: str
    text: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a model should see; `input` is in the shape that was asked for."""

    run: str
    session: str
    version: int
    shape: str
    max_tokens: int
    tokens: int
    included: tuple[dict[str, Any], ...]
    dropped: tuple[dict[str, Any], ...]
    input: Any
    digest: str
