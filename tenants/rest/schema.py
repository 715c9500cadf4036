"""What the OpenAPI document says about all views: keys, sessions, problems, replays."""

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
from tenants.rest.answers import PROBLEM
from tenants.rest.once import HEADER as IDEMPOTENCY_KEY

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
    },
}
_IDEMPOTENCY_KEY: Final = {
    "in": "header",
    "name": IDEMPOTENCY_KEY,
    "required": False,
    "schema": {"type": "string", "pattern": "^[\\x21-\\x7e]{1,255}$"},
    "description": (
        "The same key and body get the stored answer, with `Idempotent-Replay: true`;"
        " another body 422, while the first is under way 409."
    ),
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
    """Post-processing hook: every operation may answer with a problem, and every POST
    takes an idempotency key."""
    components = result.setdefault("components", {})
    components.setdefault("schemas", {})["Problem"] = _PROBLEM
    components.setdefault("responses", {})["Problem"] = {
        "description": "Refused: the code says why.",
        "content": {PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    for method, operation in _operations(result):
        refused = {"$ref": "#/components/responses/Problem"}
        operation.setdefault("responses", {}).setdefault("default", refused)
        if method == "post":
            operation.setdefault("parameters", []).append(_IDEMPOTENCY_KEY)
    return result


def _operations(result: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path in result.get("paths", {}).values():
        yield from path.items()
