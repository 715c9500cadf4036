"""The little of JSON Schema that decides how a value is shown and edited.

A schema only advises here; whether arguments are allowed is a validator's question.
So whatever is not understood simply leaves a value with the control of its own type.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

MOST_REFERENCES = 16
ALTERNATIVES = ("anyOf", "oneOf", "allOf")

FORMATS: Mapping[str, str] = {
    "date": "date",
    "date-time": "date and time",
    "email": "e-mail address",
    "uri": "address",
    "uuid": "id",
}


def escape(token: str) -> str:
    """One step of a JSON pointer (RFC 6901)."""
    return token.replace("~", "~0").replace("/", "~1")


@dataclass(frozen=True, slots=True)
class Place:
    """A schema at some depth, with the whole document for its local references."""

    schema: Mapping[str, Any] = field(default_factory=dict)
    document: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def root(cls, schema: Any) -> "Place":
        known = schema if isinstance(schema, Mapping) else {}
        return cls(known, known).followed()

    def at(self, schema: Any) -> "Place":
        known = schema if isinstance(schema, Mapping) else {}
        return Place(known, self.document).followed()

    def member(self, name: str) -> "Place":
        properties = self.schema.get("properties")
        return self.at(properties.get(name) if isinstance(properties, Mapping) else {})

    def items(self) -> "Place":
        return self.at(self.schema.get("items"))

    def followed(self) -> "Place":
        """The schema behind local `$ref`s; a loop or a foreign one says nothing."""
        schema: Any = self.schema
        for _ in range(MOST_REFERENCES):
            if not isinstance(schema, Mapping) or "$ref" not in schema:
                return Place(
                    schema if isinstance(schema, Mapping) else {}, self.document
                )
            schema = resolve(self.document, schema["$ref"])
        return Place({}, self.document)

    @property
    def types(self) -> frozenset[str]:
        declared = self.schema.get("type", ())
        names = [declared] if isinstance(declared, str) else declared
        return frozenset(name for name in names if isinstance(name, str))

    @property
    def names(self) -> tuple[str, ...]:
        """The declared properties, in the order of their author."""
        properties = self.schema.get("properties")
        return tuple(properties) if isinstance(properties, Mapping) else ()

    def requires(self, name: str) -> bool:
        required = self.schema.get("required", ())
        return isinstance(required, list) and name in required

    def text(self, keyword: str) -> str:
        value = self.schema.get(keyword, "")
        return value if isinstance(value, str) else ""

    @property
    def forms(self) -> tuple[str, ...]:
        """The forms of text that it names, itself or in one of its alternatives."""
        choices = (self.schema.get(keyword) for keyword in ALTERNATIVES)
        each = [one for some in choices if isinstance(some, list) for one in some]
        named = (self, *map(self.at, each))
        return tuple(dict.fromkeys(filter(None, (one.text("format") for one in named))))

    def whole(self, keyword: str) -> int | None:
        value = self.schema.get(keyword)
        return value if type(value) is int else None


def resolve(document: Mapping[str, Any], reference: Any) -> Any:
    """What a local reference ('#/$defs/line') points to, or None."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    found: Any = document
    for token in reference[1:].split("/")[1:]:
        key = token.replace("~1", "/").replace("~0", "~")
        found = found.get(key) if isinstance(found, Mapping) else None
    return found
