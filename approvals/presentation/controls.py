"""From arguments and their schema to controls, one per value.

The type of a value decides its control and the schema refines it; a property that the
schema declares and the arguments lack gets an empty control. Lists keep their length:
what is not there cannot be typed into being, except a declared property.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from typing import Any
from urllib.parse import quote

import rfc8785

from approvals.presentation.arguments import LONG_TEXT, columns_of, exact_text, kind_of
from approvals.presentation.edit import Control
from approvals.presentation.schema import FORMATS, Place, escape
from kernel.formats import ASKED

ROOT_NAME = "/"
SIMPLE_TYPES = ("string", "integer", "number", "boolean")
NOTES = {"integer": "whole number", "number": "number", "boolean": "true or false"}


def controls(arguments: Any, schema: Any = None) -> list[Control]:
    """The controls of a set of arguments, in its own order, then what it lacks."""
    root = control(arguments, label="", pointer="", place=Place.root(schema))
    return list(root.children) if root.kind == "group" else [root]


def reply_controls(schema: Any) -> list[Control]:
    """The controls of an answer that a schema asks for; empty ones, nothing given yet."""
    place = Place.root(schema)
    if place.names:
        return list(missing({}, "", place))
    return [absent_control("", label=place.text("title") or "Your answer", place=place)]


def form_name(pointer: str) -> str:
    """A name that every browser posts back unchanged."""
    return quote(pointer, safe="/~") or ROOT_NAME


def control(value: Any, *, label: str, pointer: str, place: Place) -> Control:
    kind = kind_of(value)
    plain = Control(
        name=form_name(pointer),
        pointer=pointer,
        label=label,
        kind=kind,
        hint=place.text("description"),
    )
    if is_fixed(kind, value, place):
        return replace(plain, kind="fixed", original=exact_text(value), note="fixed")
    if kind == "object":
        return group(value, plain, place)
    if kind == "table":
        return table(value, plain, place)
    if kind == "list":
        return items(value, plain, place)
    return scalar(value, plain, place)


def is_fixed(kind: str, value: Any, place: Place) -> bool:
    """Whether a value is shown but not offered: settled by its schema, or empty."""
    settled = "const" in place.schema or place.schema.get("readOnly") is True
    bare_null = kind == "null" and not (place.types & set(SIMPLE_TYPES))
    hollow = kind in {"object", "list"} and not value and not place.names
    return settled or bare_null or hollow


def group(value: Mapping[str, Any], plain: Control, place: Place) -> Control:
    there = [
        control(
            item,
            label=key,
            pointer=f"{plain.pointer}/{escape(key)}",
            place=place.member(key),
        )
        for key, item in value.items()
    ]
    lacking = missing(value, plain.pointer, place)
    return replace(plain, kind="group", children=(*there, *lacking))


def missing(
    value: Mapping[str, Any], pointer: str, place: Place
) -> tuple[Control, ...]:
    """Empty controls for declared properties of a simple type that are not there."""
    lacking = [(name, place.member(name)) for name in place.names if name not in value]
    return tuple(
        replace(
            absent_control(f"{pointer}/{escape(name)}", label=name, place=inside),
            required=place.requires(name),
        )
        for name, inside in lacking
        if is_simple(inside)
    )


def is_simple(place: Place) -> bool:
    return bool(place.types & set(SIMPLE_TYPES)) or "enum" in place.schema


def items(value: list[Any], plain: Control, place: Place) -> Control:
    inside = place.items()
    children = [
        control(item, label=str(at + 1), pointer=f"{plain.pointer}/{at}", place=inside)
        for at, item in enumerate(value)
    ]
    return replace(plain, kind="list", children=tuple(children))


def table(value: list[Any], plain: Control, place: Place) -> Control:
    columns = columns_of(value)
    inside = place.items()
    rows = [
        tuple(cell(record, key, f"{plain.pointer}/{at}", inside) for key in columns)
        for at, record in enumerate(value)
    ]
    return replace(plain, kind="table", columns=columns, rows=tuple(rows))


def cell(
    record: Mapping[str, Any], key: str, pointer: str, place: Place
) -> Control | None:
    if key not in record:
        return None
    return control(
        record[key],
        label=key,
        pointer=f"{pointer}/{escape(key)}",
        place=place.member(key),
    )


def scalar(value: Any, plain: Control, place: Place) -> Control:
    text = "" if value is None else exact_text(value)
    nullable = value is None or "null" in place.types
    known = replace(
        plain,
        original=text,
        text=text,
        nullable=nullable,
        null=value is None,
        was_null=value is None,
    )
    return dressed(known, kind_of(value), place)


def absent_control(pointer: str, *, label: str, place: Place) -> Control:
    plain = Control(
        name=form_name(pointer),
        pointer=pointer,
        label=label,
        kind="text",
        hint=place.text("description"),
        absent=True,
    )
    return dressed(plain, "null", place)


def dressed(plain: Control, kind: str, place: Place) -> Control:
    """The control of a scalar: its own type first, then what the schema knows."""
    if "enum" in place.schema and isinstance(place.schema["enum"], list):
        return choice(plain, kind, place.schema["enum"])
    wanted = kind if kind != "null" else declared_kind(place)
    if wanted == "boolean":
        return replace(plain, kind="boolean", note=NOTES["boolean"])
    if wanted == "number":
        whole = "integer" in place.types and "number" not in place.types
        return replace(
            plain, kind="number", note=NOTES["integer" if whole else "number"]
        )
    return text_control(plain, place)


def declared_kind(place: Place) -> str:
    """What to offer where there is no value whose type could be kept."""
    if place.types & {"integer", "number"}:
        return "number" if "string" not in place.types else "text"
    return "boolean" if "boolean" in place.types else "text"


def choice(plain: Control, kind: str, values: list[Any]) -> Control:
    """Choices are posted as canonical JSON, so that 1 and "1" stay apart."""
    texts = [(rfc8785.dumps(value).decode(), exact_text(value)) for value in values]
    current = "" if plain.absent else posted_choice(plain, kind)
    known = {text for text, _ in texts}
    own = [] if current in known or plain.absent else [(current, plain.original)]
    return replace(
        plain,
        kind="choice",
        original=current,
        text=current,
        choices=(*own, *texts),
        nullable=False,
        null=False,
        was_null=False,
        note="one of a list",
    )


def posted_choice(plain: Control, kind: str) -> str:
    if kind == "text":
        return rfc8785.dumps(plain.original).decode()
    return plain.original if kind != "null" else "null"


def text_control(plain: Control, place: Place) -> Control:
    forms = place.forms
    note = FORMATS.get(forms[0], "text") if len(forms) == 1 else "text"
    longest = place.whole("maxLength")
    if is_long(plain.original, longest if note == "text" else None):
        limit = f", {len(plain.original):,} of {longest:,}" if longest else ""
        return replace(plain, kind="long", note=f"text{limit}")
    day = place.text("format") == "date"
    if day and (plain.absent or is_date(plain.original)):
        return replace(plain, kind="date", note=note)
    hint = f"{plain.hint} {told(forms)}".strip()
    return replace(plain, kind="text", note=note, hint=hint)


def told(forms: tuple[str, ...]) -> str:
    """How a text is written whose form nobody would guess."""
    first, *others = [ASKED[one] for one in forms if one in {"date", "date-time"}] or [
        ""
    ]
    return " ".join([first, *(f"Or {one[0].lower()}{one[1:]}" for one in others)])


def is_date(text: str) -> bool:
    """Whether a date field keeps the text; it would empty any other."""
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def is_long(text: str, longest: int | None) -> bool:
    """Whether it needs lines: a one-line field would drop its line breaks."""
    broken = any(mark in text for mark in "\r\n")
    return broken or len(text) > LONG_TEXT or (longest or 0) > 2 * LONG_TEXT
