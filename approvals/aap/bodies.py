"""Reading submissions: what is authority strictly, `context` as the text that came."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from approvals.services.aap import OUTCOMES, Submission
from kernel.problems import declare
from kernel.strict_json import parse

INVALID: Final = declare(
    "invalid_body", status=400, title="This is not what the protocol has here"
)
MISSING_KEY: Final = declare(
    "missing_idempotency_key", status=400, title="Idempotency-Key is missing"
)
MOST_CONTEXT: Final = 64 * 1024  # characters
LONGEST: Final = 366 * 24 * 3600  # seconds
_DURATION: Final = re.compile(r"([1-9][0-9]{0,8})([smh])")
_UNIT: Final = {"s": 1, "m": 60, "h": 3600}
_KEY: Final = re.compile(r"[\x21-\x7e]{1,255}")
_SPACE: Final = re.compile(r"[ \t\n\r]*")
_DECODER: Final = json.JSONDecoder()
SUBMITTED: Final = {
    "tool": str,
    "arguments": dict,
    "timeout": str,
    "server": str,
    "agent_reasoning": str,
    "context": dict,
}
NEEDED: Final = ("tool", "arguments", "timeout")


def read_key(given: str | None) -> str:
    """Raises `missing_idempotency_key` (400)."""
    if given is None or not _KEY.fullmatch(given):
        raise MISSING_KEY()
    return given


def seconds_of(duration: str) -> int:
    """Raises `invalid_body` (400) for what is no duration."""
    found = _DURATION.fullmatch(duration)
    if found is None:
        raise INVALID("A duration is a whole number of s, m or h.", "/timeout")
    return min(int(found[1]) * _UNIT[found[2]], LONGEST)


def read_submission(body: bytes) -> Submission:
    """Raises a `Problem` (400) with the place of the flaw."""
    raw = _members(body)
    context = raw.pop("context", None)
    if context is not None:
        _check_context(context)
    # The rest is what people approve: it means one thing, or it is refused.
    said: Any = {name: parse(text.encode()) for name, text in raw.items()}
    _check(said, SUBMITTED, NEEDED)
    return Submission(
        tool=said["tool"],
        arguments=said["arguments"],
        timeout=said["timeout"],
        seconds=seconds_of(said["timeout"]),
        server=said.get("server"),
        reasoning=said.get("agent_reasoning"),
        context=context,
        body=_canonical(said, context),
    )


def read_outcome(body: bytes) -> tuple[str, str]:
    """(status, note). Raises a `Problem` (400)."""
    said: Any = parse(body)
    if not isinstance(said, dict):
        raise INVALID("An object is expected.", "")
    _check(said, {"status": str, "note": str}, ("status",))
    if said["status"] not in OUTCOMES:
        raise INVALID(f"One of {', '.join(OUTCOMES)}.", "/status")
    return said["status"], said.get("note", "")


def _members(body: bytes) -> dict[str, str]:
    """The texts of the body's members, by name."""
    try:
        return _walk(body.decode())
    except (ValueError, IndexError, RecursionError):
        raise INVALID("One JSON object is expected, each key once.", "") from None


def _walk(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    at = _skip(text, _expect(text, _skip(text, 0), "{"))
    while text[at] != "}":
        name, at = _DECODER.raw_decode(text, at)
        at = _skip(text, _expect(text, _skip(text, at), ":"))
        _, end = _DECODER.raw_decode(text, at)
        if not isinstance(name, str) or name in found:
            raise ValueError(name)
        found[name], at = text[at:end], _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)
            if text[at] != '"':
                raise ValueError(at)
        elif text[at] != "}":
            raise ValueError(at)
    if _skip(text, at + 1) != len(text):
        raise ValueError(at)
    return found


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found is not None
    return found.end()


def _expect(text: str, at: int, sign: str) -> int:
    if text[at] != sign:
        raise ValueError(at)
    return at + 1


def _check_context(text: str) -> None:
    """An object of any JSON, bounded: it is returned, and otherwise not looked at."""
    if not text.startswith("{"):
        raise INVALID("An object is expected.", "/context")
    if len(text) > MOST_CONTEXT:
        raise INVALID(f"At most {MOST_CONTEXT} characters.", "/context")
    if "NaN" in text or "Infinity" in text:
        parse(text.encode())  # Python reads more than JSON has


def _check(said: Any, known: Mapping[str, type], needed: tuple[str, ...]) -> None:
    for name, value in said.items():
        if name not in known:
            raise INVALID("There is no such field.", f"/{name[:64]}")
        if not isinstance(value, known[name]) or value == "":
            raise INVALID("This has another form.", f"/{name}")
    for name in needed:
        if name not in said:
            raise INVALID("This is missing.", f"/{name}")


def _canonical(said: Any, context: str | None) -> bytes:
    """Equal for equal values, whatever their order and spaces."""
    told = json.loads(context, parse_float=str) if context else None
    return json.dumps([said, told], sort_keys=True).encode()
