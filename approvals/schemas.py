"""JSON Schema, where a tool or a question brings one. Never follows a reference out."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError
from referencing import Registry

from kernel.canonical import canonical_bytes
from kernel.problems import Kind
from kernel.strict_json import parse


def check_against(
    schema: Mapping[str, Any] | None, value: Any, *, kind: Kind, pointer: str
) -> None:
    """Refuse a value that its schema does not allow.

    Raises the problem `kind` with the pointer of the first place, and the other
    places in `errors`.
    """
    if not schema:
        return
    errors = list(_errors(schema, value, pointer))
    if errors:
        first = errors[0]
        raise kind(first["detail"], first["pointer"], errors=errors)


def _errors(
    schema: Mapping[str, Any], value: Any, pointer: str
) -> Iterator[dict[str, str]]:
    found = _validator(canonical_bytes(dict(schema))).iter_errors(value)
    for error in sorted(found, key=lambda one: list(map(str, one.path)))[:20]:
        yield {"pointer": pointer + _pointer(error), "detail": _short(error)}


@lru_cache(maxsize=512)
def _validator(schema: bytes) -> Draft202012Validator:
    # An empty registry: a reference to another document is an error, not a fetch.
    return Draft202012Validator(parse(schema), registry=Registry())


def _pointer(error: ValidationError) -> str:
    steps = [str(step).replace("~", "~0").replace("/", "~1") for step in error.path]
    return "".join(f"/{step}" for step in steps)


def _short(error: ValidationError) -> str:
    return error.message if len(error.message) < 300 else error.message[:299] + "…"


def is_schema(value: Any) -> bool:
    """Whether the value can serve as a schema at all."""
    try:
        Draft202012Validator.check_schema(value)
    except SchemaError:
        return False
    return True
