"""Arguments as a tree of typed values, each with its exact text.

Nothing is shortened, rounded, sorted or beautified: what a node's `text` says is what
is digested (numbers in their canonical form, RFC 8785).
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import rfc8785

from approvals.presentation.schema import FORMATS, Place, escape

MOST_COLUMNS = 6
LONG_TEXT = 72
CURRENCY_NAMES = ("currency", "currency_code")
AMOUNT_NAMES = ("amount", "amount_delta", "total", "total_amount", "value", "price")
ABSENT = "absent"
LOOKS_TYPED = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?|true|false|null")


@dataclass(frozen=True, slots=True)
class Head:
    """A column's key and the kind all its values share, or '' when they differ."""

    name: str
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentNode:
    """One value. `kind` is text, number, boolean, null, object, list or table.

    `name` is the key or the position; `note` is what the schema adds ("date"). A table
    is an array of flat objects: `heads` are its columns, `rows` hold one node a column,
    of kind `absent` where an object lacks that key. `typed` asks for the kind to be
    told beside the value, because "1" could be taken for 1.
    """

    name: str
    pointer: str
    kind: str
    text: str = ""
    title: str = ""
    note: str = ""
    children: tuple["ArgumentNode", ...] = ()
    typed: bool = False
    heads: tuple[Head, ...] = ()
    rows: tuple[tuple["ArgumentNode", ...], ...] = ()

    @property
    def long(self) -> bool:
        """Whether a text is prose that wants a block of its own."""
        return self.kind == "text" and (len(self.text) > LONG_TEXT or "\n" in self.text)

    @property
    def count(self) -> int:
        """How many values are directly inside."""
        return len(self.rows) or len(self.children)


@dataclass(frozen=True, slots=True, kw_only=True)
class Money:
    """An amount and its currency, both in their exact text, and where they stand."""

    name: str
    amount: str
    currency: str


def exact_text(value: Any) -> str:
    """The text of a scalar: a string as it is, anything else in canonical JSON."""
    return value if isinstance(value, str) else rfc8785.dumps(value).decode()


def kind_of(value: Any) -> str:
    """Python's bool is an int, so it is asked first."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, Mapping):
        return "object"
    if isinstance(value, list | tuple):
        return "table" if is_table(value) else "list"
    return "null" if value is None else "text"


def is_table(values: list[Any] | tuple[Any, ...]) -> bool:
    """Whether an array reads best as a table: flat objects with few distinct keys."""
    if not values or not all(isinstance(value, Mapping) for value in values):
        return False
    cells = [cell for value in values for cell in value.values()]
    flat = not any(isinstance(cell, Mapping | list | tuple) for cell in cells)
    return flat and 0 < len(columns_of(values)) <= MOST_COLUMNS


def columns_of(values: list[Any] | tuple[Any, ...]) -> tuple[str, ...]:
    """All keys of the objects, in the order in which they first appear."""
    return tuple(dict.fromkeys(key for value in values for key in value))


def argument_tree(value: Any, schema: Any = None) -> ArgumentNode:
    """The tree of one JSON value; `schema` only adds titles and notes."""
    return node(value, name="", pointer="", place=Place.root(schema))


def node(value: Any, *, name: str, pointer: str, place: Place) -> ArgumentNode:
    kind = kind_of(value)
    plain = ArgumentNode(
        name=name,
        pointer=pointer,
        kind=kind,
        title=place.text("title"),
        note=FORMATS.get(place.text("format"), ""),
    )
    return BRANCHES.get(kind, leaf)(value, plain, place)


def leaf(value: Any, plain: ArgumentNode, place: Place) -> ArgumentNode:
    text = exact_text(value)
    mistakable = plain.kind == "text" and LOOKS_TYPED.fullmatch(text) is not None
    return replace(plain, text=text, typed=mistakable)


def branch_object(
    value: Mapping[str, Any], plain: ArgumentNode, place: Place
) -> ArgumentNode:
    children = [
        child(item, key, plain, place.member(key)) for key, item in value.items()
    ]
    return replace(plain, children=tuple(children))


def branch_list(value: list[Any], plain: ArgumentNode, place: Place) -> ArgumentNode:
    inside = place.items()
    children = [child(item, str(at), plain, inside) for at, item in enumerate(value)]
    return replace(plain, children=tuple(children))


def branch_table(value: list[Any], plain: ArgumentNode, place: Place) -> ArgumentNode:
    columns = columns_of(value)
    inside = place.items()
    rows = [
        [cell(record, key, f"{plain.pointer}/{at}", inside) for key in columns]
        for at, record in enumerate(value)
    ]
    heads = [
        Head(name, shared_kind(column))
        for name, column in zip(columns, zip(*rows, strict=True), strict=True)
    ]
    told = [
        tuple(
            replace(item, typed=not head.kind and item.kind != ABSENT)
            for item, head in zip(row, heads, strict=True)
        )
        for row in rows
    ]
    return replace(plain, heads=tuple(heads), rows=tuple(told))


def shared_kind(column: tuple[ArgumentNode, ...]) -> str:
    kinds = {item.kind for item in column} - {ABSENT}
    return kinds.pop() if len(kinds) == 1 else ""


def cell(
    record: Mapping[str, Any], key: str, pointer: str, place: Place
) -> ArgumentNode:
    where = f"{pointer}/{escape(key)}"
    if key not in record:
        return ArgumentNode(name=key, pointer=where, kind=ABSENT)
    return node(record[key], name=key, pointer=where, place=place.member(key))


def child(item: Any, key: str, parent: ArgumentNode, place: Place) -> ArgumentNode:
    where = f"{parent.pointer}/{escape(key)}"
    return node(item, name=key, pointer=where, place=place)


BRANCHES: Mapping[str, Callable[[Any, ArgumentNode, Place], ArgumentNode]] = {
    "object": branch_object,
    "list": branch_list,
    "table": branch_table,
}


def money(arguments: Any) -> Money | None:
    """The amount that a set of arguments is about, where a currency stands beside it.

    The set itself is looked at first, then the objects directly inside it.
    """
    if not isinstance(arguments, Mapping):
        return None
    inside = [(f"{key}.", value) for key, value in arguments.items()]
    for prefix, candidate in [("", arguments), *inside]:
        if isinstance(candidate, Mapping) and (found := money_in(candidate, prefix)):
            return found
    return None


def money_in(values: Mapping[str, Any], prefix: str) -> Money | None:
    currency = first(values, CURRENCY_NAMES, "text")
    amount = first(values, AMOUNT_NAMES, "text", "number")
    if currency is None or amount is None:
        return None
    return Money(
        name=prefix + amount,
        amount=exact_text(values[amount]),
        currency=exact_text(values[currency]),
    )


def first(values: Mapping[str, Any], names: tuple[str, ...], *kinds: str) -> str | None:
    """The first of some names that is there with a value of one of the kinds."""
    there = (name for name in names if name in values)
    return next((name for name in there if kind_of(values[name]) in kinds), None)
