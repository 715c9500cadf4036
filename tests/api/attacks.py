"""Bodies that must be refused, made from one that is accepted."""

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Any, Final

from kernel.strict_json import pointer_to

type Path = tuple[str | int, ...]

DIGITS: Final = "9" * 5_000
HUGE: Final = 60 * 1024 * 1024
SENTINEL: Final = "\ue000here\ue000"

# What stands in a value's place, as JSON text, and the code it is refused with.
BAD_VALUES: Final = {
    "NaN": "json.number_not_exact",
    "Infinity": "json.number_not_exact",
    "-Infinity": "json.number_not_exact",
    "1e400": "json.number_not_exact",
    str(2**53 + 1): "json.number_not_exact",
    str(-(2**53) - 1): "json.number_not_exact",
    DIGITS: "json.number_not_exact",
    f"1.{DIGITS}": "json.number_not_exact",
    "0.1000000000000000055": "json.number_not_exact",
    r'"a\u0000b"': "json.null_character",
    r'"\ud800"': "json.surrogate",
    r'{"\udc00": 1}': "json.surrogate",
    r'{"\u0000": 1}': "json.null_character",
    '{"a": 1, "a": 1}': "json.duplicate_key",
    r'{"a": 1, "\u0061": 2}': "json.duplicate_key",
    "[" * 65 + "]" * 65: "json.depth",
    '{"a":' * 65 + "1" + "}" * 65: "json.depth",
    "[" * 100_000: "json.depth",
    "01": "json.syntax",
    "+1": "json.syntax",
    "0x10": "json.syntax",
    "'a'": "json.syntax",
    "True": "json.syntax",
    "1,": "json.syntax",
    '"\t"': "json.syntax",
    '"unfinished': "json.syntax",
}
# Even evidence that is kept as text is JSON.
NEVER: Final = {"NaN", "Infinity", "-Infinity", "[" * 100_000}
OTHERS: Final = ("x", 7, 1.5, True, None, [], {})
STRANGE_KEYS: Final = ("zz", "__proto__", "", "a/b~c", "id", "tenant_id", "state")
# Texts that are their sender's own: nothing is taken from them.
PROSE: Final = {
    "subject",
    "description",
    "title",
    "external_id",
    "reason",
    "text",
    "stage",
    "reference",
    "evidence_digest",
    "explanation",
    "tool_call_id",
}
MISSPELT: Final[tuple[Callable[[str], str], ...]] = (
    str.upper,
    lambda key: f"{key} ",
    lambda key: f"{key}_",
    lambda key: key[:-1],
)
EACH: Final = 3
"""As many bad values are tried in each place; the next place goes on with others."""


@dataclass(frozen=True)
class Attack:
    """A body, what is wrong with it, and what is known about the refusal."""

    name: str
    body: bytes
    codes: frozenset[str] = frozenset()
    pointer: str | None = None


def text(body: Any) -> str:
    return json.dumps(body, ensure_ascii=False)


def malformed(body: dict[str, Any]) -> Iterator[Attack]:
    """Whole bodies that are not one strict JSON object."""
    good = text(body)
    yield from (
        Attack(f"{shape} for an object", shape.encode(), frozenset({"wrong_type"}))
        for shape in ("[]", f"[{good}]", '"x"', "1", "true", "[[[]]]")
    )
    yield Attack("null for an object", b"null", frozenset({"invalid_field"}))
    for name, raw in _broken(good).items():
        yield Attack(name, raw, frozenset({"json.syntax", "json.encoding"}))
    for inserted, code in BAD_VALUES.items():
        # An unknown key, but that is found out after what is wrong with its value.
        start = '{"zz": ' + inserted + ("," if body else "")
        codes = {code, "json.number_not_exact", "json.syntax", "json.depth"}
        yield Attack(
            f"{inserted[:30]} at zz", (start + good[1:]).encode(), frozenset(codes)
        )
    doubled = '{"zz": 1, "zz": 1' + ("," if body else "") + good[1:]
    yield Attack(
        "the same key twice", doubled.encode(), frozenset({"json.duplicate_key"})
    )


def _broken(good: str) -> dict[str, bytes]:
    raw = good.encode()
    return {
        "byte order mark": b"\xef\xbb\xbf" + raw,
        "UTF-16": good.encode("utf-16"),
        "UTF-32": good.encode("utf-32-le"),
        "invalid UTF-8": raw[:-1] + b"\xff" + raw[-1:],
        "overlong UTF-8": raw + b"\xc0\x80",
        "surrogate in UTF-8": b'{"zz": "\xed\xa0\x80"}',
        "trailing text": raw + b" x",
        "trailing object": raw + raw,
        "trailing comma": raw[:-1] + b",}",
        "trailing null byte": raw + b"\0",
        "cut short": raw[:-1],
        "only spaces": b" \n",
        "a comment": b"/* */" + raw,
        "concatenated nothing": b"null null",
        "gzip": b"\x1f\x8b\x08\x00" + raw,
        "a form": b"subject=x&reason=y",
    }


def bad_values(body: dict[str, Any], *, raw: tuple[str, ...] = ()) -> Iterator[Attack]:
    """Each value, at every depth, replaced by text that is not strict JSON."""
    turn = cycle(BAD_VALUES.items())
    for path, _ in values(body):
        loose = _below(path, raw)
        for inserted, code in islice(turn, EACH):
            if loose and inserted not in NEVER and code != "json.syntax":
                continue
            changed = text(replaced(body, path, SENTINEL)).replace(
                text(SENTINEL), inserted
            )
            codes = {code, "json.syntax", "json.depth"} if loose else {code}
            codes |= {"json.syntax"} if raw else set()
            name = f"{inserted[:30]} at {pointer_to(path)}"
            yield Attack(name, changed.encode(), frozenset(codes))


def unknown_keys(body: dict[str, Any], *, free: tuple[str, ...]) -> Iterator[Attack]:
    """One key too many in each object, and each key spelt otherwise."""
    codes = frozenset({"unknown_field"})
    strange, spelt = cycle(STRANGE_KEYS), cycle(MISSPELT)
    for path, inner in [((), body), *values(body)]:
        if not isinstance(inner, dict) or _below(path, free):
            continue
        for key in islice(strange, 2):
            changed = replaced(body, path, {**inner, key: 1})
            yield _at(f"key {key!r}", changed, (*path, key), codes)
        for key in inner:
            other = next(spelt)(key)
            changed_inner = {other if k == key else k: v for k, v in inner.items()}
            changed = replaced(body, path, changed_inner)
            yield _at(f"key {other!r}", changed, (*path, other), codes)
        huge = "k" * 100_000
        changed = replaced(body, path, {**inner, huge: 1})
        yield Attack(f"huge key at {pointer_to(path)}", text(changed).encode(), codes)


def _at(name: str, body: Any, path: Path, codes: frozenset[str]) -> Attack:
    pointer = pointer_to(path)
    return Attack(f"{name} at {pointer}", text(body).encode(), codes, pointer)


def wrong_types(
    body: dict[str, Any],
    *,
    free: tuple[str, ...],
    nullable: tuple[str, ...],
    raw: tuple[str, ...] = (),
) -> Iterator[Attack]:
    """Each declared value replaced by every other JSON type."""
    for path, value in values(body):
        if _strictly_below(path, raw) or _strictly_below(path, free):
            continue
        for other in OTHERS:
            if _is_acceptable(path, value, other, free, nullable):
                continue
            changed = replaced(body, path, other)
            yield Attack(
                f"{text(other)} for {text(value)[:20]} at {pointer_to(path)}",
                text(changed).encode(),
            )


def padded_words(body: dict[str, Any], *, free: tuple[str, ...]) -> Iterator[Attack]:
    """Each word that is not prose, with a space or the end of a line around it."""
    for path, value in values(body):
        if not isinstance(value, str) or _below(path, free) or path[-1] in PROSE:
            continue
        for other in (f" {value}", f"{value} ", f"{value}\n", f"{value}\u00a0"):
            changed = text(replaced(body, path, other)).encode()
            yield Attack(f"{other!r} at {pointer_to(path)}", changed)


def huge_texts(body: dict[str, Any], *, free: tuple[str, ...]) -> Iterator[Attack]:
    """Each text that is not a payload, at a length that nothing here needs."""
    for path, value in values(body):
        if isinstance(value, str) and not _below(path, free) and path[-1] != "payload":
            changed = text(replaced(body, path, "a" * 100_000)).encode()
            yield Attack(f"100,000 letters at {pointer_to(path)}", changed)


def _is_acceptable(
    path: Path, value: Any, other: Any, free: tuple[str, ...], nullable: tuple[str, ...]
) -> bool:
    pointer = pointer_to(path)
    if other is None:
        return pointer in nullable
    if pointer in free and not isinstance(value, dict):
        return True  # any JSON but null
    if type(other) is type(value):
        return True  # other tests know which values are good
    return pointer in free and pointer.endswith(("target", "value", "result"))


def values(body: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every value inside, with its path, containers before what they hold."""
    inside: Any = ()
    if isinstance(body, dict):
        inside = body.items()
    elif isinstance(body, list):
        inside = enumerate(body)
    for key, value in inside:
        yield (*path, key), value
        yield from values(value, (*path, key))


def replaced(body: Any, path: Path, value: Any) -> Any:
    """A copy with another value at the path."""
    if not path:
        return value
    copy = deepcopy(body)
    place = copy
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return copy


def _below(path: Path, places: tuple[str, ...]) -> bool:
    pointer = pointer_to(path)
    return any(pointer == each or pointer.startswith(f"{each}/") for each in places)


def _strictly_below(path: Path, places: tuple[str, ...]) -> bool:
    return any(pointer_to(path).startswith(f"{each}/") for each in places)


type Attacks = Callable[[dict[str, Any]], Iterator[Attack]]
