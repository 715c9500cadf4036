"""Approving beforehand: what a policy permits, and what a person then bounds. Pure.

A standing approval binds every argument of the action, each by one constraint. What
policy leaves open may be bounded; everything else is fixed exactly.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, Self

from kernel.canonical import digest

DOMAIN: Final = "keyturn/standing/value/v1"
MOST_USES: Final = 1_000
MOST_PATHS: Final = 100
MOST_VALUES: Final = 50
LONGEST_PREFIX: Final = 200
LONGEST_REST: Final = 200
KINDS: Final = ("exactly", "between", "one_of", "prefix")
# A prefix ends where a name's part does, and what follows cannot lead out of it: no
# "..", no other host behind "https://", no second word.
PREFIX: Final = re.compile(r"[^\s]{2,199}[-_/:#]")
DECIMAL: Final = re.compile(r"-?[0-9]{1,20}(\.[0-9]{1,10})?")
# An address is fixed to the end of its host: "https://pay-" would go on as "evil.example".
ADDRESS: Final = re.compile(r"(https?|wss?|ftp|file):|.*//", re.IGNORECASE)
WITH_HOST: Final = re.compile(r"[^/]*//[^/]+/.*")
REST: Final = re.compile(r"[A-Za-z0-9_-]+([./][A-Za-z0-9_-]+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How far standing approvals may go: seconds, uses, and JSON Pointers of arguments."""

    expires_within: int
    uses: int
    open: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {
            "expires_within": self.expires_within,
            "uses": self.uses,
            "open": list(self.open),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        return cls(
            expires_within=value["expires_within"],
            uses=value["uses"],
            open=tuple(sorted(value.get("open", ()))),
        )

    def permit(self, *, seconds: float, uses: int, bounded: Iterable[str]) -> bool:
        """Whether a standing approval of these terms stays inside."""
        inside = seconds <= self.expires_within and uses <= self.uses
        return inside and set(bounded) <= set(self.open)


def narrowest(permitted: Sequence[Mapping[str, Any] | None]) -> Bounds | None:
    """What all matching policies permit together; None unless each of them does."""
    said = [Bounds.from_json(one) for one in permitted if one]
    if not said or len(said) != len(permitted):
        return None
    common = set.intersection(*(set(one.open) for one in said))
    return Bounds(
        expires_within=min(one.expires_within for one in said),
        uses=min(one.uses for one in said),
        open=tuple(sorted(common)),
    )


@dataclass(frozen=True, slots=True)
class Constraint:
    """What one argument may be. `given` is {"value"}, {"least", "most"}, {"values"} or
    {"prefix"}, as `kind` says; `path` is a JSON Pointer. Two bounds that are texts bound
    decimals that are texts, such as "12.50"; numbers bound numbers."""

    path: str
    kind: str
    given: Mapping[str, Any]

    @property
    def is_exact(self) -> bool:
        return self.kind == "exactly"

    def allows(self, value: Any) -> bool:
        """Whether the value is inside; equal as JSON, never as Python has it."""
        return _ALLOWS[self.kind](self.given, value)

    def as_json(self) -> dict[str, Any]:
        return {"path": self.path, "kind": self.kind, **self.given}

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> Self:
        given = {name: said[name] for name in said if name not in {"path", "kind"}}
        return cls(said["path"], said["kind"], given)


def leaves(arguments: Any, path: str = "") -> dict[str, Any]:
    """Every argument by its JSON Pointer. Objects are walked; a list is one value."""
    if not isinstance(arguments, dict) or not arguments:
        return {path: arguments}
    found: dict[str, Any] = {}
    for name, value in arguments.items():
        found |= leaves(value, f"{path}/{escaped(name)}")
    return found


def escaped(name: str) -> str:
    """A member's name as a part of a JSON Pointer."""
    return name.replace("~", "~0").replace("/", "~1")


def covers(constraints: Iterable[Constraint], arguments: Mapping[str, Any]) -> bool:
    """Whether these are exactly the arguments that are bound, each inside its bound."""
    bound, found = {one.path: one for one in constraints}, leaves(dict(arguments))
    return bound.keys() == found.keys() and all(
        bound[path].allows(value) for path, value in found.items()
    )


def same(left: Any, right: Any) -> bool:
    """Equal as JSON."""
    return digest(DOMAIN, left) == digest(DOMAIN, right)


def flaw_of(one: Constraint, approved: Any) -> str:
    """Why it cannot be used, or nothing. What was approved must be inside itself."""
    said = _FLAWS[one.kind](one.given)
    if said:
        return said
    return "" if one.allows(approved) else "What you approved is outside of it."


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_amount(value: Any) -> bool:
    """Whether it is a number, or a text that is a plain decimal."""
    text = isinstance(value, str) and DECIMAL.fullmatch(value) is not None
    return text or is_number(value)


def _between(given: Mapping[str, Any], value: Any) -> bool:
    bounds = given["least"], given["most"]
    alike = isinstance(value, str) == isinstance(bounds[0], str)
    if not alike or not is_amount(value):
        return False
    least, most = map(_decimal, bounds)
    return least <= _decimal(value) <= most


def _decimal(value: Any) -> Decimal:
    """Exactly: of a float, what it is in JSON."""
    return Decimal(str(value))


def _one_of(given: Mapping[str, Any], value: Any) -> bool:
    return any(same(value, one) for one in given["values"])


def _prefixed(given: Mapping[str, Any], value: Any) -> bool:
    prefix = given["prefix"]
    if not isinstance(value, str) or not value.startswith(prefix):
        return False
    if _prefix_flaw(given):  # also of one that was made when less was known
        return False
    rest = value[len(prefix) :]
    return len(rest) <= LONGEST_REST and bool(REST.fullmatch(rest))


def _no_flaw(_: Mapping[str, Any]) -> str:
    return ""


def _range_flaw(given: Mapping[str, Any]) -> str:
    bounds = given.get("least"), given.get("most")
    if not all(map(is_amount, bounds)) or len({type(b) is str for b in bounds}) > 1:
        return "It takes a number."
    least, most = map(_decimal, bounds)
    return "" if least <= most else "The most is below the least."


def _values_flaw(given: Mapping[str, Any]) -> str:
    count = len(given["values"])
    return "" if 0 < count <= MOST_VALUES else f"From 1 to {MOST_VALUES} values."


def _prefix_flaw(given: Mapping[str, Any]) -> str:
    prefix = given["prefix"]
    if ADDRESS.match(prefix) and not WITH_HOST.fullmatch(prefix):
        return "Of an address at least https://host/ is fixed."
    if PREFIX.fullmatch(prefix) and not prefix.endswith("//") and ".." not in prefix:
        return ""
    return "At least three characters, of which the last is one of - _ / : #"


_ALLOWS: Final = {
    "exactly": lambda given, value: same(given["value"], value),
    "between": _between,
    "one_of": _one_of,
    "prefix": _prefixed,
}
_FLAWS: Final = {
    "exactly": _no_flaw,
    "between": _range_flaw,
    "one_of": _values_flaw,
    "prefix": _prefix_flaw,
}
