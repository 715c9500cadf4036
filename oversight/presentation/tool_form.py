"""The editor of a tool: from a definition to texts, and back with what is wrong."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self

from django.http import QueryDict

from kernel.problems import Problem
from kernel.strict_json import Json, parse

TEXTS: Final = ("description", "title", "size", "url", "status_url")
NUMBERS: Final = ("timeout", "settle", "attempts")
CHECKED: Final = ("resend", "irreversible")
NO_REASONS: Final = "-"
NUMBER: Final = re.compile(r"[0-9]{1,9}(\.[0-9]{1,6})?")
NOT_A_NUMBER: Final = "A number, please."
NOT_AN_OBJECT: Final = "An object in braces, please: {…}."
NOT_A_HEADER: Final = "One a line, as in “Authorization: Bearer secret://name”."


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedTool:
    """The whole form as texts. `seen` is the version that it began with."""

    seen: str = ""
    name: str = ""
    mode: str = "agent"
    risk: str = "high"
    description: str = ""
    title: str = ""
    size: str = ""
    reasons: str = ""
    schema: str = ""
    url: str = ""
    status_url: str = ""
    headers: str = ""
    timeout: str = ""
    settle: str = ""
    attempts: str = ""
    resend: str = ""
    irreversible: str = ""
    sample: str = ""

    @classmethod
    def of(cls, definition: Mapping[str, Any], **more: str) -> Self:
        """As the form shows a definition; `more` is what stands beside it."""
        texts = {n: str(definition[n]) for n in (*TEXTS, *NUMBERS) if n in definition}
        checked = {name: "on" for name in CHECKED if definition.get(name)}
        headers = definition.get("headers", {}).items()
        schema = definition.get("schema")
        return cls(
            **more,
            **texts,
            **checked,
            reasons=_written(definition.get("reasons")),
            schema=pretty(schema) if schema else "",
            headers="\n".join(f"{name}: {text}" for name, text in headers),
            sample=pretty(example_of(schema or {})),
        )

    @classmethod
    def read(cls, post: QueryDict) -> Self:
        """What was sent, as it was typed."""
        names = cls.__dataclass_fields__
        return cls(**{n: str(post.get(n, "")).replace("\r\n", "\n") for n in names})


@dataclass(kw_only=True)
class ReadTool:
    """A definition, and a sentence for each field that is none."""

    definition: dict[str, Any] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)


def read_tool(typed: TypedTool) -> ReadTool:
    """What is left empty is not stated. The verb judges the rest."""
    read = ReadTool()
    for name in TEXTS:
        if text := getattr(typed, name).strip():
            read.definition[name] = text
    for name in NUMBERS:
        _read_number(read, name, getattr(typed, name).strip())
    if typed.schema.strip():
        read.definition["schema"] = read_object(read.errors, "schema", typed.schema)
    _read_headers(read, typed.headers)
    if reasons := _lines(typed.reasons):
        read.definition["reasons"] = [] if reasons == [NO_REASONS] else reasons
    read.definition |= {name: True for name in CHECKED if getattr(typed, name)}
    return read


def read_object(errors: dict[str, str], name: str, text: str) -> dict[str, Any]:
    """A JSON object as it was typed; what is none is told beside its field."""
    try:
        value = parse(text.encode(errors="replace"))
    except Problem as problem:
        errors[name] = problem.detail or problem.title
        return {}
    if not isinstance(value, dict):
        errors[name] = NOT_AN_OBJECT
        return {}
    return value


def field_of(pointer: str | None) -> str:
    """The field that a refusal points at: '/definition/schema/type' is 'schema'."""
    parts = [part for part in (pointer or "").split("/") if part != "definition"][1:]
    found = parts[0] if parts else ""
    return found if found in TypedTool.__dataclass_fields__ else ""


def example_of(schema: Mapping[str, Any]) -> dict[str, Json]:
    """Arguments to try the schema with: its own examples, or nothing of each kind."""
    properties = schema.get("properties", {})
    if not isinstance(properties, Mapping):
        return {}
    return {str(name): _example(one) for name, one in properties.items()}


def pretty(value: Any) -> str:
    """JSON as people read and write it."""
    return json.dumps(value, indent=2, ensure_ascii=False)


def _example(schema: Any) -> Json:
    if not isinstance(schema, Mapping):
        return None
    for said in (*schema.get("examples", ())[:1], *schema.get("enum", ())[:1]):
        return said  # type: ignore[no-any-return]
    kind = _kind(schema.get("type"))
    if kind == "object":
        return example_of(schema)
    empty: dict[str, Json] = {"string": "", "array": [], "boolean": False}
    return 0 if kind in {"number", "integer"} else empty.get(kind)


def _kind(said: Any) -> str:
    """Of several types the first that holds something: "null" is in most such lists."""
    kinds = said if isinstance(said, list) else [said]
    return next((str(one) for one in kinds if one != "null"), "null")


def _written(reasons: list[str] | None) -> str:
    """One a line. None at all is not the same as nothing said."""
    return "" if reasons is None else "\n".join(reasons or [NO_REASONS])


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n") if line.strip()]


def _read_number(read: ReadTool, name: str, text: str) -> None:
    if not text:
        return
    if not NUMBER.fullmatch(text):
        read.errors[name] = NOT_A_NUMBER
        return
    number = float(text)
    read.definition[name] = int(number) if number.is_integer() else number


def _read_headers(read: ReadTool, text: str) -> None:
    pairs = [line.partition(":") for line in _lines(text)]
    if any(not (name.strip() and colon) for name, colon, _ in pairs):
        read.errors["headers"] = NOT_A_HEADER
    elif pairs:
        read.definition["headers"] = {n.strip(): said.strip() for n, _, said in pairs}
