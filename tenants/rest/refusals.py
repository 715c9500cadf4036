"""What each operation refuses with, as the OpenAPI document lists it.

A view names the problems of its own: `@extend_schema(…, extensions=refuses(STALE))`.
Those that come with having a key, a body, an id in the address or a fence are added
here. Each code is shown once, as an example, and referred to from each answer.
"""

from collections.abc import Collection, Iterator
from typing import Any, Final

from kernel.problems import BUSY, NOT_FOUND, Kind, declared
from kernel.strict_json import (
    DEPTH,
    DUPLICATE_KEY,
    ENCODING,
    NULL_CHARACTER,
    NUMBER_NOT_EXACT,
    SURROGATE,
    SYNTAX,
    TOO_LARGE,
)
from tenants.authentication import AGENTS_CANNOT_DECIDE, CSRF_FAILED, TENANT_REQUIRED
from tenants.rest.answers import PROBLEM
from tenants.rest.bodies import LENGTH_REQUIRED
from tenants.rest.exceptions import MEDIA_TYPE, NOT_ACCEPTABLE, UNAVAILABLE
from tenants.rest.flaws import (
    INVALID_FIELD,
    INVALID_PARAMETER,
    UNKNOWN_FIELD,
    WRONG_TYPE,
)
from tenants.rest.once import KEY_MALFORMED
from tenants.rest.paging import INVALID_CURSOR, INVALID_LIMIT
from tenants.rest.views import SCOPE_MISSING

OWN: Final = "x-refuses"
"""Where a view's own codes are until they become answers."""

ALWAYS: Final = (INVALID_PARAMETER, NOT_ACCEPTABLE, BUSY, UNAVAILABLE)
OF_KEYS: Final = (
    "not_authenticated",
    "key_invalid",
    "key_revoked",
    "key_expired",
    "agent_disabled",
)
OF_MEMBERS: Final = (TENANT_REQUIRED, CSRF_FAILED, AGENTS_CANNOT_DECIDE, NOT_FOUND)
OF_BODIES: Final = (
    SYNTAX,
    ENCODING,
    DEPTH,
    DUPLICATE_KEY,
    NUMBER_NOT_EXACT,
    NULL_CHARACTER,
    SURROGATE,
    UNKNOWN_FIELD,
    WRONG_TYPE,
    INVALID_FIELD,
    LENGTH_REQUIRED,
    TOO_LARGE,
    MEDIA_TYPE,
)
OF_FILES: Final = (LENGTH_REQUIRED, TOO_LARGE, MEDIA_TYPE)
OF_POSTS: Final = ("idempotency_in_flight", "idempotency_mismatch")
RETRY: Final = {
    "Retry-After": {"schema": {"type": "integer"}, "description": "Seconds."}
}

_FLAW: Final = {
    "type": "object",
    "required": ["pointer", "code", "detail"],
    "properties": {
        "pointer": {"type": "string", "description": "RFC 6901, into the body."},
        "code": {"type": "string"},
        "detail": {"type": "string"},
    },
}
_PROBLEM: Final = {
    "type": "object",
    "description": "RFC 9457. `code` is stable and for machines, the rest for people.",
    "required": ["type", "title", "status", "detail", "code"],
    "properties": {
        "type": {"type": "string", "format": "uri"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "code": {"type": "string"},
        "pointer": {"type": "string", "description": "The first place that is wrong."},
        "errors": {"type": "array", "items": _FLAW},
        "class": {
            "type": "string",
            "enum": ["wait", "reopen", "stop"],
            "description": "Of a refused verification: what follows from it.",
        },
    },
}
_CONTENT: Final = {"schema": {"$ref": "#/components/schemas/Problem"}}


def components(codes: Collection[str]) -> dict[str, dict[str, Any]]:
    """What the operations' answers refer to: each of these codes as an example."""
    problem = {"description": "Any other problem.", "content": {PROBLEM: _CONTENT}}
    return {
        "schemas": {"Problem": _PROBLEM},
        "responses": {"Problem": problem},
        "examples": {kind.code: _example(kind) for kind in _kinds(codes)},
    }


def refuses(*kinds: Kind | str) -> dict[str, Any]:
    """`extensions` of a view's `extend_schema`: what it refuses with by itself.

    A problem that a room above declares is named by its code.
    """
    return {OWN: [each if isinstance(each, str) else each.code for each in kinds]}


def codes_of(path: str, method: str, operation: dict[str, Any]) -> set[str]:
    """Everything the operation refuses with: its own, and what comes along."""
    return {*operation.pop(OWN, ()), *_that_come_along(path, method, operation)}


def responses_of(codes: Collection[str]) -> dict[str, Any]:
    """An answer for each status that these codes have; and for any other problem."""
    by_status: dict[int, list[Kind]] = {}
    for kind in _kinds(codes):
        by_status.setdefault(kind.status, []).append(kind)
    answers = {str(s): _response(s, by_status[s]) for s in sorted(by_status)}
    return {**answers, "default": {"$ref": "#/components/responses/Problem"}}


def _that_come_along(
    path: str, method: str, operation: dict[str, Any]
) -> Iterator[str]:
    named = {each.get("name") for each in operation.get("parameters", ())}
    yield from _codes(ALWAYS)
    if {"apiKey": []} in operation.get("security", ()):
        yield from (*OF_KEYS, SCOPE_MISSING.code)
    else:
        yield from ("not_authenticated", *_codes(OF_MEMBERS))
    if "requestBody" in operation:
        is_json = "application/json" in operation["requestBody"]["content"]
        yield from _codes(OF_BODIES if is_json else OF_FILES)
    if method == "post":
        yield from (*OF_POSTS, KEY_MALFORMED.code)
    if "{" in path:
        yield NOT_FOUND.code
    if "cursor" in named:
        yield from _codes((INVALID_CURSOR, INVALID_LIMIT))


def _codes(kinds: tuple[Kind, ...]) -> Iterator[str]:
    return (kind.code for kind in kinds)


def _kinds(codes: Collection[str]) -> list[Kind]:
    return [kind for kind in declared() if kind.code in codes]


def _response(status: int, kinds: list[Kind]) -> dict[str, Any]:
    shown = {
        kind.code: {"$ref": f"#/components/examples/{kind.code}"} for kind in kinds
    }
    listed = ", ".join(f"`{kind.code}`" for kind in kinds)
    return {
        "description": listed,
        "content": {PROBLEM: {**_CONTENT, "examples": shown}},
        **({"headers": RETRY} if status in (429, 503) else {}),
    }


def _example(kind: Kind) -> dict[str, Any]:
    return {"summary": kind.title, "value": kind().document()}
