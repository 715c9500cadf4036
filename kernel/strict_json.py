"""Strict JSON: bytes that mean one thing only, or a problem that says where not.

Whatever is signed, compared or executed comes through here. Ordinary parsers keep the
last of two equal keys, round numbers, and let through text that a database or another
parser reads differently; each of these lets two readers see two different actions.

The C parser of the standard library does the work. Where it would be lenient, a hook
leaves a `_Flaw` in the value instead, and one walk over the value finds the first flaw
and the path to it. Both are linear in the size of the body.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, Final

from kernel.problems import Kind, Problem, declare

type Json = (
    bool | int | float | str | list[Json] | tuple[Json, ...] | Mapping[str, Json] | None
)
"""A JSON value. Use `canonical_value` to find out whether something is one."""

MAX_BODY_BYTES: Final = 256 * 1024
MAX_DEPTH: Final = 64
MAX_NUMBER: Final = 2**53 - 1
"""The largest whole number that every JSON reader understands alike (RFC 8785)."""

_MAX_NUMBER_CHARACTERS = 64
_MAX_POINTER_CHARACTERS = 512

TOO_LARGE = declare("body_too_large", status=413, title="The body is too large")
SYNTAX = declare("json.syntax", status=400, title="The body is not JSON")
ENCODING = declare("json.encoding", status=400, title="The body is not plain UTF-8")
DEPTH = declare("json.depth", status=400, title="The value is nested too deeply")
DUPLICATE_KEY = declare("json.duplicate_key", status=400, title="A key is repeated")
NUMBER_NOT_EXACT = declare(
    "json.number_not_exact", status=400, title="A number would not stay exact"
)
NULL_CHARACTER = declare(
    "json.null_character", status=400, title="A text holds the null character"
)
SURROGATE = declare("json.surrogate", status=400, title="A text is not valid Unicode")
TYPE = declare("json.type", status=400, title="A value has no JSON form")

_DETAIL: Final[Mapping[Kind, str]] = {
    DEPTH: f"Arrays and objects may be nested {MAX_DEPTH} deep.",
    DUPLICATE_KEY: "This key occurs more than once in its object.",
    NUMBER_NOT_EXACT: (
        "Readers of JSON disagree about this number: send it as a string. Numbers are"
        f" finite, at most {MAX_NUMBER} either way, and unchanged as a double."
    ),
    NULL_CHARACTER: "Text may not contain \\u0000.",
    SURROGATE: "Text may not contain half of a surrogate pair.",
    TYPE: "Only objects with text keys, arrays, text, numbers, true, false and null.",
}

_NESTING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[{\]}]', re.DOTALL)
_BAD_CHARACTER = re.compile("[\x00\ud800-\udfff]")


def parse(body: bytes, *, limit: int = MAX_BODY_BYTES) -> Json:
    """Read one JSON value of at most `limit` bytes.

    Raises `Problem` with 413 `body_too_large`, or 400 and a `json.…` code, `pointer`
    (RFC 6901) where the place is a value, `offset` (in bytes) where it is not.
    """
    if len(body) > limit:
        raise TOO_LARGE(f"The body has {len(body)} bytes; at most {limit} are read.")
    text = _decoded(body)
    _refuse_depth(text)
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise _syntax_problem(error) from None
    return canonical_value(value)


def canonical_value(value: object) -> Json:
    """Give back `value` if it is strict JSON, however it was made.

    Raises `Problem` with 400, a `json.…` code and the pointer of the first flaw.
    """
    try:
        _refuse_flaws(value, MAX_DEPTH)
    except _Found as found:
        raise found.kind(_DETAIL[found.kind], found.pointer()) from None
    return value  # type: ignore[return-value]  # that is what was just checked


def pointer_to(path: Iterable[str | int]) -> str:
    """The RFC 6901 pointer of a path of keys and positions, cut where it is absurd."""
    tokens = (str(token).replace("~", "~0").replace("/", "~1") for token in path)
    return "".join(f"/{token}" for token in tokens)[:_MAX_POINTER_CHARACTERS]


class _Flaw:
    """Left in the value by a hook: something that JSON allows and we do not."""

    def __init__(self, kind: Kind, key: str | None = None) -> None:
        self.kind = kind
        self.key = key


class _Found(Exception):
    """Carries the first flaw out of the walk and collects its path on the way up."""

    def __init__(self, kind: Kind, key: str | None = None) -> None:
        self.kind = kind
        self.path: list[str | int] = [] if key is None else [key]

    def pointer(self) -> str:
        return pointer_to(reversed(self.path))


def _decoded(body: bytes) -> str:
    if body.startswith(b"\xef\xbb\xbf"):
        raise ENCODING("The body begins with a byte order mark.", offset=0)
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        detail = f"Byte {error.start} is not UTF-8."
        raise ENCODING(detail, offset=error.start) from None


def _refuse_depth(text: str) -> None:
    """Count the nesting before the parser recurses into it."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    depth = 0
    for match in _NESTING.finditer(text):
        found = match[0]
        depth += (found in "[{") - (found in "]}")
        if depth > MAX_DEPTH:
            raise DEPTH(_DETAIL[DEPTH], offset=_byte_offset(text, match.start()))


def _syntax_problem(error: json.JSONDecodeError) -> Problem:
    offset = _byte_offset(error.doc, error.pos)
    return SYNTAX(f"{error.msg} (byte {offset}).", offset=offset)


def _byte_offset(text: str, characters: int) -> int:
    return len(text[:characters].encode())


def _refuse_flaws(value: object, depth_left: int) -> None:
    """Walk in document order and raise `_Found` at the first flaw."""
    match value:
        case str():
            _refuse_text(value)
        case None | bool():
            pass
        case int() | float():
            if not abs(value) <= MAX_NUMBER:  # written so that NaN fails too
                raise _Found(NUMBER_NOT_EXACT)
        case dict():
            _refuse_members(value, depth_left)
        case list() | tuple():
            _refuse_items(enumerate(value), depth_left)
        case _Flaw():
            raise _Found(value.kind, value.key)
        case _:
            raise _Found(TYPE)


def _refuse_members(members: dict[Any, object], depth_left: int) -> None:
    for key in members:
        if not isinstance(key, str):
            raise _Found(TYPE)
        _refuse_text(key)  # a bad key cannot be part of a pointer: name its object
    _refuse_items(members.items(), depth_left)


def _refuse_items(items: Iterable[tuple[str | int, object]], depth_left: int) -> None:
    if depth_left == 0:
        raise _Found(DEPTH)
    for token, item in items:
        try:
            _refuse_flaws(item, depth_left - 1)
        except _Found as found:
            found.path.append(token)
            raise


def _refuse_text(text: str) -> None:
    bad = _BAD_CHARACTER.search(text)
    if bad:
        raise _Found(NULL_CHARACTER if bad[0] == "\x00" else SURROGATE)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any] | _Flaw:
    members = dict(pairs)
    if len(members) == len(pairs):
        return members
    return _Flaw(DUPLICATE_KEY, _first_repeated(key for key, _ in pairs))


def _first_repeated(keys: Iterable[str]) -> str | None:
    seen: set[str] = set()
    for key in keys:
        if key in seen:
            return None if _BAD_CHARACTER.search(key) else key
        seen.add(key)
    return None


def _integer(literal: str) -> int | _Flaw:
    # Python reads thousands of digits in quadratic time: look at the length first.
    if len(literal) > _MAX_NUMBER_CHARACTERS:
        return _Flaw(NUMBER_NOT_EXACT)
    return int(literal)


def _float(literal: str) -> float | _Flaw:
    if len(literal) > _MAX_NUMBER_CHARACTERS:
        return _Flaw(NUMBER_NOT_EXACT)
    value = float(literal)
    return value if _is_exact(literal, value) else _Flaw(NUMBER_NOT_EXACT)


def _is_exact(literal: str, value: float) -> bool:
    """Whether the double, written out again, is the number that was sent."""
    if math.isinf(value):
        return False
    if value == 0:  # an exponent beyond what Decimal reads ends here as well
        return not literal.lower().partition("e")[0].strip("-0.")
    return Decimal(literal) == Decimal(repr(value))


def _constant(_literal: str) -> _Flaw:
    return _Flaw(NUMBER_NOT_EXACT)


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_int=_integer,
    parse_float=_float,
    parse_constant=_constant,
)
