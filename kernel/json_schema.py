"""JSON Schema 2020-12 with bounds: anybody may write one, nobody may stall us with it.

Schemas come from administrators and, for answers, from agents. So nothing is fetched,
patterns run on a linear-time engine, and a validation ends after so many steps.
"""

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from math import prod
from typing import Any, Final

import cel
from jsonschema import Draft202012Validator, FormatChecker, ValidationError
from jsonschema.exceptions import SchemaError, best_match
from jsonschema.validators import extend
from referencing import Registry
from referencing.exceptions import Unresolvable

from kernel.canonical import canonical_bytes
from kernel.formats import ASKED, FORMATS
from kernel.problems import MOST_FLAWS, Kind, declare, with_flaws
from kernel.strict_json import Json, pointer_to

SCHEMA_INVALID: Final = declare(
    "schema_invalid", status=422, title="This is not a schema that can be used"
)
SCHEMA_TOO_COMPLEX: Final = declare(
    "schema_too_complex", status=422, title="The schema takes too long to apply"
)
VALUE_INVALID: Final = declare(
    "value_invalid", status=422, title="A value does not satisfy its schema"
)

MAX_SCHEMA_BYTES: Final = 64 * 1024
MAX_PATTERN: Final = 256
MAX_STEPS: Final = 200_000
MAX_SECONDS: Final = 3.0
# A pattern is compiled each time that it is asked, for up to a tenth of a second.
MAX_READING: Final = 1.0  # seconds, for all schemas of one request together
STATES_A_STEP: Final = 200  # of a pattern, each looked at for each character
DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

DESCRIPTION: Final = 400  # characters of one that are told where a pattern is missed

TYPES: Final[Mapping[str, str]] = {
    "string": "text",
    "integer": "a whole number, like 12",
    "number": "a number, like 1240.50",
    "boolean": "true or false",
    "null": "nothing (null)",
    "array": "a list",
    "object": "an object",
}
WORDS: Final[Mapping[str, str]] = {
    "const": "It must be {}",
    "minLength": "Too short: its length is at least {}",
    "maxLength": "Too long: its length is at most {}",
    "minItems": "Too few: at least {}",
    "maxItems": "Too many: at most {}",
    "minProperties": "Too few: at least {}",
    "maxProperties": "Too many: at most {}",
    "minimum": "Too small: at least {}",
    "maximum": "Too large: at most {}",
    "exclusiveMinimum": "Too small: more than {}",
    "exclusiveMaximum": "Too large: less than {}",
    "multipleOf": "It must be a multiple of {}",
    "uniqueItems": "No two of them may be the same",
}

type Found = Iterator[ValidationError]
type Keyword = Callable[[Any, Any, Any, Any], Found | None]


def end_of_reading() -> float:
    """Until when the schemas of one request are looked at, by what this thread works."""
    return time.thread_time() + MAX_READING


def check_schema(schema: Json, *, pointer: str = "", ends: float | None = None) -> None:
    """Refuse what is no schema, or one that could fetch, loop or backtrack.

    Raises `Problem` 422 `schema_invalid`, and `schema_too_complex` where looking at it
    takes until `ends`; `pointer` leads to the schema in the body.
    """
    ends = end_of_reading() if ends is None else ends
    if not isinstance(schema, Mapping):
        raise SCHEMA_INVALID("A schema is a JSON object.", pointer)
    if len(canonical_bytes(schema)) > MAX_SCHEMA_BYTES:
        raise SCHEMA_INVALID(f"At most {MAX_SCHEMA_BYTES} bytes.", pointer)
    for path, keyword, value in _keywords((), schema):
        if time.thread_time() > ends:
            raise SCHEMA_TOO_COMPLEX("Its patterns are too many.", pointer)
        flaw = _flaw(path, keyword, value)
        if flaw:
            raise SCHEMA_INVALID(flaw, pointer + pointer_to((*path, keyword)))
    try:
        Draft202012Validator.check_schema(_bare(schema))
    except SchemaError as error:
        place = pointer + pointer_to(error.absolute_path)
        raise SCHEMA_INVALID(_sentence(error), place) from None


def check_value(
    schema: Mapping[str, Any],
    value: Json,
    *,
    pointer: str = "",
    kind: Kind = VALUE_INVALID,
) -> None:
    """Refuse a value that does not satisfy a schema which `check_schema` accepted.

    Raises `Problem` 422, of `kind` with the pointer of the most telling flaw and the
    first of all in `errors`, or `schema_too_complex` when the bounds are reached.
    """
    with _bounds(pointer):
        _refuse(_validator(schema).iter_errors(value), pointer, kind)


def check_formats(
    schema: Mapping[str, Any],
    value: Json,
    before: Json = None,
    *,
    pointer: str = "",
    kind: Kind = VALUE_INVALID,
) -> None:
    """Refuse a text that has not the form which its schema names, unless it stands at
    the same place in `before`. For a value that `check_value` took.

    Raises `Problem` as `check_value` does.
    """
    with _bounds(pointer):
        errors = _validator(schema, FORMATS).iter_errors(value)
        new = (one for one in errors if _is_new_text(one, before))
        _refuse(new, pointer, kind)


def _refuse(errors: Found, pointer: str, kind: Kind) -> None:
    """All of them are looked at for the most telling one, and few are kept."""
    kept: list[ValidationError] = []
    best = best_match(_keeping(errors, kept))
    if best is None:
        return
    found = [best, *filter(None, (best_match([one]) for one in kept))]
    each = [
        kind(_sentence(one), pointer + pointer_to(one.absolute_path)) for one in found
    ]
    raise with_flaws(each[0], [flaw for one in each for flaw in one.flaws])


def _keeping(errors: Found, kept: list[ValidationError]) -> Found:
    for error in errors:
        if len(kept) < MOST_FLAWS:
            kept.append(error)
        yield error


def _is_new_text(error: ValidationError, before: Any) -> bool:
    if not isinstance(error.instance, str):
        return False
    try:
        for step in error.absolute_path:
            before = before[step]
    except (LookupError, TypeError):
        return True
    return bool(before != error.instance)


def _validator(
    schema: Mapping[str, Any], formats: FormatChecker | None = None
) -> Draft202012Validator:
    return _Bounded(_bare(schema), registry=Registry(), format_checker=formats)  # type: ignore[no-any-return]


@contextmanager
def _bounds(pointer: str) -> Iterator[None]:
    """Steps and time for one validation; `pointer` leads to what is validated."""
    reset = _budget.set(_Budget())
    try:
        yield
    except (_Exhausted, RecursionError):
        raise SCHEMA_TOO_COMPLEX("The schema needs too many steps.", pointer) from None
    except Unresolvable:
        raise SCHEMA_INVALID("A $ref leads nowhere.", pointer) from None
    finally:
        _budget.reset(reset)


class _Exhausted(Exception):
    """The validation used up its steps or its time."""


@dataclass(slots=True)
class _Budget:
    steps: int = MAX_STEPS
    ends: float = field(default_factory=lambda: time.monotonic() + MAX_SECONDS)

    def spend(self, steps: int = 1) -> None:
        self.steps -= steps
        if self.steps < 0 or time.monotonic() > self.ends:
            raise _Exhausted


_budget: ContextVar[_Budget] = ContextVar("steps of a validation")


def _counted(keyword: Keyword) -> Keyword:
    def apply(validator: Any, value: Any, instance: Any, schema: Any) -> Found:
        _budget.get().spend()
        yield from keyword(validator, value, instance, schema) or ()

    return apply


def _pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Found:
    if not validator.is_type(instance, "string"):
        return
    _budget.get().spend(len(instance) * _states(pattern) // STATES_A_STEP)
    if not _matches(pattern, instance):
        yield ValidationError("does not match")


def _unique(validator: Any, wanted: bool, instance: Any, schema: Any) -> Found:
    # The library compares each with each when items cannot be sorted.
    if not wanted or not validator.is_type(instance, "array"):
        return
    if len({canonical_bytes(item) for item in instance}) < len(instance):
        yield ValidationError("has equal items")


# Python's own engine can be made to run for hours by twenty characters.
_MATCHES = cel.compile("text.matches(pattern)")
_REPEATED: Final = re.compile(r"\{(\d*)(?:,(\d*))?\}")


def _states(pattern: str) -> int:
    """About how many there may be at once: repetitions that stand alone make few."""
    plain = "".join(pattern.split())  # with the flag x it may have spaces anywhere
    times = [max(int(n or 0) for n in pair) for pair in _REPEATED.findall(plain)]
    found = prod(max(1, n) for n in times)
    return found if len(times) > 1 else max(1, found // 10)


def _matches(pattern: str, text: str) -> bool:
    return bool(_MATCHES.execute({"text": text, "pattern": pattern}))


_OWN: Mapping[str, Keyword] = {"pattern": _pattern, "uniqueItems": _unique}
_Bounded: Any = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator,
    {
        name: _counted(_OWN.get(name, keyword))
        for name, keyword in Draft202012Validator.VALIDATORS.items()
    },
)


def _bare(schema: Mapping[str, Any]) -> dict[str, Any]:
    # A declared dialect would make the library choose its own, unbounded class; an
    # address would be what references are resolved against.
    own = {"$schema", "$id"}
    return {key: value for key, value in schema.items() if key not in own}


def _keywords(
    path: tuple[str | int, ...], node: object
) -> Iterator[tuple[tuple[str | int, ...], str, Any]]:
    """Every member of every object in the schema, whether or not it is a keyword."""
    if isinstance(node, Mapping):
        for key, value in node.items():
            yield path, key, value
            yield from _keywords((*path, key), value)
    elif isinstance(node, list | tuple):
        for place, item in enumerate(node):
            yield from _keywords((*path, place), item)


def _flaw(path: tuple[str | int, ...], keyword: str, value: object) -> str:
    match keyword, value:
        case (("$ref" | "$dynamicRef"), str()) if not value.startswith("#"):
            return "References stay within the schema."
        case "$schema", str() if path or value.rstrip("#") != DIALECT:
            return f"The dialect is {DIALECT}, named at the top or not at all."
        case "$id", str() if path:
            return "A part of a schema has no address of its own."
        case "patternProperties", Mapping():
            return "Properties are named, not matched."
        case "pattern", str() if len(value) > MAX_PATTERN or not _compiles(value):
            return "A pattern is short, and without look-around or back-references."
    return ""


def _compiles(pattern: str) -> bool:
    try:
        _matches(pattern, "")
    except (RuntimeError, ValueError):
        return False
    return True


def _sentence(error: ValidationError | SchemaError) -> str:
    """What is wanted here. The library's own message would repeat the whole value."""
    wanted: Any = error.validator_value
    instance: Any = error.instance
    keyword: str | None = error.validator  # type: ignore[assignment]
    match keyword:
        case None:
            return "Nothing is allowed here."
        case "required":
            missing = [name for name in wanted if name not in instance]
            return f"Missing: {_cut(', '.join(missing))}."
        case "additionalProperties" | "unevaluatedProperties" if wanted is False:
            known = error.schema.get("properties", {})  # type: ignore[union-attr]
            return (
                f"Not known: {_cut(', '.join(n for n in instance if n not in known))}."
            )
        case "format" if wanted in ASKED:
            return ASKED[wanted]
        case "type":
            names = [wanted] if isinstance(wanted, str) else wanted
            return f"It must be {' or '.join(TYPES.get(n, n) for n in names)}."
        case "enum":
            return f"It must be one of {_cut(', '.join(map(_json, wanted)))}."
        case "pattern":
            return _described(error.schema) or f"It must look like this: `{wanted}`"
        case _ if keyword in WORDS:
            return f"{WORDS[keyword].format(_short(wanted))}."
        case _:
            return f"Must satisfy {keyword}: {_short(wanted)}."


def _described(schema: Any) -> str:
    """What its author says of it in words, which is more than a pattern says."""
    said = schema.get("description") if isinstance(schema, Mapping) else None
    return _cut(said.strip(), DESCRIPTION) if isinstance(said, str) else ""


def _short(value: object) -> str:
    return _cut(_json(value))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _cut(text: str, limit: int = 160) -> str:
    return text if len(text) <= limit else f"{text[:limit]}…"
