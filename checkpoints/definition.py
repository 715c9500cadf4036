"""What a tool's definition may say, and what holds where it says nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from typing import Any, Final
from urllib.parse import urlsplit

from checkpoints.models import Tool
from kernel.canonical import definition_digest
from kernel.json_schema import check_schema, check_value
from kernel.problems import declare
from kernel.strict_json import Json

TOOL_INVALID: Final = declare(
    "tool_invalid", status=422, title="The tool cannot be defined like this"
)

TOOL_NAME: Final = r"[A-Za-z0-9][A-Za-z0-9_.:/-]{0,99}"
KEY_PLACE: Final = "{key}"
_ADDRESS: Final = {"type": "string", "minLength": 1, "maxLength": 2_000}
_TEXT: Final = {"type": "string", "maxLength": 2_000}
_LINE: Final = r"^\S([^\r\n]*\S)?$"
DEFINITION: Final[Mapping[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "description": _TEXT,
        "title": _TEXT,
        "size": _TEXT,
        "schema": {"type": "object"},
        "reasons": {
            "type": "array",
            "maxItems": 8,
            "uniqueItems": True,
            "items": {"type": "string", "pattern": _LINE, "maxLength": 200},
        },
        "url": _ADDRESS,
        "status_url": _ADDRESS,
        "headers": {
            "type": "object",
            "maxProperties": 20,
            "propertyNames": {"pattern": "^[A-Za-z][A-Za-z0-9-]{0,63}$"},
            "additionalProperties": {
                "type": "string",
                "pattern": "^[!-~]([ -~]*[!-~])?$",
                "maxLength": 1_000,
            },
        },
        "timeout": {"type": "number", "minimum": 1, "maximum": 60},
        "settle": {"type": "number", "minimum": 0, "maximum": 604_800},
        "attempts": {"type": "integer", "minimum": 1, "maximum": 20},
        "resend": {"type": "boolean"},
        "irreversible": {"type": "boolean"},
    },
}


# What Keyturn says of a call itself, and what belongs to the connection.
_OURS: Final = frozenset(
    {
        "accept",
        "accept-encoding",
        "connection",
        "content-length",
        "content-type",
        "expect",
        "host",
        "idempotency-key",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)


@dataclass(frozen=True, slots=True)
class Terms:
    """How a tool is called, and what may be concluded when it does not answer."""

    definition: Mapping[str, Any]

    @classmethod
    def of(cls, tool: Tool) -> "Terms":
        return cls(tool.definition)

    @property
    def schema(self) -> Mapping[str, Any]:
        """What its arguments must satisfy; empty: anything."""
        schema: Mapping[str, Any] = self.definition.get("schema", {})
        return schema

    @property
    def url(self) -> str:
        """Where a managed tool is called."""
        return str(self.definition["url"])

    @property
    def status_url(self) -> str | None:
        """Where it can be asked what came of a key, in place of `{key}`."""
        return self.definition.get("status_url")

    @property
    def status_digest(self) -> bytes | None:
        """The SHA-256 of that address, by which it is known again."""
        url = self.status_url
        return None if url is None else sha256(url.encode()).digest()

    @property
    def headers(self) -> Mapping[str, str]:
        """What a managed tool is sent besides; secrets stand in them by name."""
        headers: Mapping[str, str] = self.definition.get("headers", {})
        return headers

    @property
    def timeout(self) -> float:
        """Seconds in which it answers."""
        return float(self.definition.get("timeout", 10))

    @property
    def settle(self) -> timedelta:
        """After this long, what it does not know of has not happened."""
        return timedelta(seconds=self.definition.get("settle", 60))

    @property
    def attempts(self) -> int:
        """How often one effect may be tried."""
        return int(self.definition.get("attempts", 3))

    @property
    def resend(self) -> bool:
        """It honours the idempotency key: the same key acts once, however often sent."""
        return bool(self.definition.get("resend", False))

    @property
    def irreversible(self) -> bool:
        """What it does cannot be undone: so nobody agrees to it beforehand."""
        return bool(self.definition.get("irreversible", False))


def check_definition(mode: str, definition: Json) -> None:
    """Raises 422 `tool_invalid` or `schema_invalid` with the place of the flaw."""
    check_value(DEFINITION, definition, pointer="/definition", kind=TOOL_INVALID)
    assert isinstance(definition, dict)
    check_schema(definition.get("schema", {}), pointer="/definition/schema")
    for name in ("url", "status_url"):
        if name in definition and not _is_address(str(definition[name])):
            raise TOOL_INVALID("An http or https address.", f"/definition/{name}")
    if mode == Tool.Mode.MANAGED and "url" not in definition:
        raise TOOL_INVALID("A managed tool is called somewhere.", "/definition/url")
    _check_headers(mode, definition)
    if KEY_PLACE not in str(definition.get("status_url", KEY_PLACE)):
        raise TOOL_INVALID(f"It contains {KEY_PLACE}.", "/definition/status_url")


def _check_headers(mode: str, definition: Mapping[str, Any]) -> None:
    if mode != Tool.Mode.MANAGED and "headers" in definition:
        raise TOOL_INVALID("Only a managed tool is sent any.", "/definition/headers")
    for name in definition.get("headers", {}):
        if name.lower() in _OURS or name.lower().startswith("keyturn-"):
            raise TOOL_INVALID("Keyturn sends this one.", f"/definition/headers/{name}")


def digest_of(*, name: str, mode: str, risk: str, definition: Json) -> bytes:
    """What an approval pins of a tool, 32 bytes."""
    whole = {"name": name, "mode": mode, "risk": risk, "definition": definition}
    return definition_digest(whole)


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in {"http", "https"} and bool(parts.hostname)
    except ValueError:
        return False
