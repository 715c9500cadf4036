"""From JSON to frozen values, by their annotations: nothing is guessed at."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from functools import cache
from typing import Any, Generic, Literal, TypeVar

from keyturn.errors import Unintelligible

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[T]):
    """A page of a list; `next` is the cursor of the following one, or None."""

    items: tuple[T, ...]
    next: str | None


def read(kind: type[T], document: Any) -> T:
    """The value that a document describes. Raises `Unintelligible`."""
    shape: Any = kind
    try:
        value: T = _reader(shape)(document)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise Unintelligible(f"this is no {kind.__name__}: {error!r}") from error
    return value


def read_page(kind: type[T], document: Any) -> Page[T]:
    """A page of such values. Raises `Unintelligible`."""
    if not isinstance(document, Mapping):
        raise Unintelligible("this is no page")
    items = tuple(read(kind, one) for one in document.get("items", ()))
    return Page(items=items, next=document.get("next"))


@cache
def _reader(kind: Any) -> Callable[[Any], Any]:
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        some = _reader(next(one for one in inner if one is not types.NoneType))
        return lambda value: None if value is None else some(value)
    if origin is tuple:
        each = _reader(inner[0])
        return lambda value: tuple(each(one) for one in value)
    if origin is dict:
        held = _reader(inner[1])
        return lambda value: {key: held(one) for key, one in value.items()}
    if origin is Literal:
        return _exactly(str)
    if is_dataclass(kind):
        return _object_reader(kind)
    return _SIMPLE.get(kind, lambda value: value)


def _object_reader(kind: Any) -> Callable[[Any], Any]:
    hints = typing.get_type_hints(kind)
    readers = {one.name: _reader(hints[one.name]) for one in fields(kind)}

    def read_object(document: Any) -> Any:
        found = {name: read(document[name]) for name, read in readers.items()}
        return kind(**found)

    return read_object


def _exactly(kind: type) -> Callable[[Any], Any]:
    def take(value: Any) -> Any:
        if type(value) is not kind:
            raise TypeError(f"a {type(value).__name__} is no {kind.__name__}")
        return value

    return take


def _number(value: Any) -> float:
    if type(value) not in (int, float):
        raise TypeError(f"a {type(value).__name__} is no number")
    return float(value)


def _time(value: Any) -> datetime:
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        raise ValueError("this is no time") from None


_SIMPLE: Mapping[Any, Callable[[Any], Any]] = {
    str: _exactly(str),
    int: _exactly(int),
    bool: _exactly(bool),
    float: _number,
    datetime: _time,
}
