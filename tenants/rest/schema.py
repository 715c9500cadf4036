"""What the OpenAPI document says about all views: keys, sessions, replays.

What they refuse with is in `refusals`; here it is joined to each operation.
"""

from collections.abc import Iterator
from typing import Any, Final

from drf_spectacular.extensions import (
    OpenApiAuthenticationExtension,
    OpenApiSerializerExtension,
)
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import build_bearer_security_scheme_object
from drf_spectacular.utils import Direction

from tenants.authentication import TENANT_HEADER
from tenants.rest.exceptions import REPLAY
from tenants.rest.once import HEADER as IDEMPOTENCY_KEY
from tenants.rest.refusals import codes_of, components, responses_of

_IDEMPOTENCY_KEY: Final = {
    "in": "header",
    "name": IDEMPOTENCY_KEY,
    "required": False,
    "schema": {"type": "string", "pattern": "^[\\x21-\\x7e]{1,255}$"},
    "example": "order-1842/pay",
    "description": (
        f"The same key and body get the stored answer, with `{REPLAY}: true`;"
        " another body 422, while the first is under way 409."
    ),
}
_REPLAYED: Final = {
    REPLAY: {
        "schema": {"type": "string", "enum": ["true"]},
        "description": "The answer was given before, and nothing was done again.",
    }
}


class KeyScheme(OpenApiAuthenticationExtension):
    """`KeyAuthentication` in the document."""

    target_class = "tenants.authentication.KeyAuthentication"
    name = "apiKey"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:
        return build_bearer_security_scheme_object("Authorization", "Bearer", "kt_…")


class MemberScheme(OpenApiAuthenticationExtension):
    """`MemberAuthentication` in the document: three things, all needed."""

    target_class = "tenants.authentication.MemberAuthentication"
    name = ["session", "csrf", "tenant"]

    def get_security_definition(self, auto_schema: AutoSchema) -> list[dict[str, Any]]:
        return [
            {"type": "apiKey", "in": "cookie", "name": "keyturn_session"},
            {"type": "apiKey", "in": "header", "name": "X-CSRFToken"},
            {"type": "apiKey", "in": "header", "name": TENANT_HEADER},
        ]


class StrictScheme(OpenApiSerializerExtension):
    """Strict bodies in the document: no other keys."""

    target_class = "tenants.rest.strict.StrictSerializer"
    match_subclasses = True

    def map_serializer(
        self, auto_schema: AutoSchema, direction: Direction
    ) -> dict[str, Any]:
        schema: dict[str, Any] = auto_schema._map_serializer(
            self.target, direction, bypass_extensions=True
        )
        return {**schema, "additionalProperties": False}


def describe_problems(
    result: dict[str, Any], generator: Any, request: Any, public: bool
) -> dict[str, Any]:
    """Post-processing hook: what each operation refuses with, and that every POST takes
    an idempotency key."""
    referred: set[str] = set()
    for path, method, operation in _operations(result):
        if method == "post":
            operation.setdefault("parameters", []).append(_IDEMPOTENCY_KEY)
            _say_replayed(operation)
        codes = codes_of(path, method, operation)
        operation["responses"] |= responses_of(codes)
        referred |= codes
    for kind, parts in components(referred).items():
        result.setdefault("components", {}).setdefault(kind, {}).update(parts)
    return result


def let_null_be_json(
    result: dict[str, Any], generator: Any, request: Any, public: bool
) -> dict[str, Any]:
    """Post-processing hook: any JSON is null too, and not one of the two."""
    simplified: dict[str, Any] = _simplified(result)
    return simplified


_ANY_OR_NULL: Final = [{}, {"type": "null"}]


def _simplified(part: Any) -> Any:
    if isinstance(part, list):
        return [_simplified(each) for each in part]
    if not isinstance(part, dict):
        return part
    inner = {key: _simplified(value) for key, value in part.items()}
    if inner.get("oneOf") == _ANY_OR_NULL:
        del inner["oneOf"]
    return inner


def _say_replayed(operation: dict[str, Any]) -> None:
    for status, response in operation["responses"].items():
        if status.startswith("2"):
            response["headers"] = {**response.get("headers", {}), **_REPLAYED}


def _operations(result: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in result.get("paths", {}).items():
        for method, operation in methods.items():
            yield path, method, operation
