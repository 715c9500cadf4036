"""What can be asked and stated, as frozen values with nothing of the network in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from keyturn import exact

Risk = Literal["low", "medium", "high", "critical"]
Verdict = Literal["approve", "edit", "reject", "respond", "request_changes"]
Provenance = Literal["user", "system", "tool", "model"]


class _NotGiven:
    def __repr__(self) -> str:
        return "NOT_GIVEN"


NOT_GIVEN: Final = _NotGiven()
"""For values of which `None` is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Precondition:
    """A fact that must hold when the action happens; `max_age` in seconds."""

    field: str
    equals: Any = NOT_GIVEN
    max_age: int | None = None

    def body(self) -> dict[str, Any]:
        told = given(field=self.field, max_age=self.max_age)
        return told if self.equals is NOT_GIVEN else {**told, "equals": self.equals}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One question: may this exact action happen?

    `context` is the digest of what the model saw (`record_context`).

    `risk` may raise the tool's own, never lower it. `explanation` is the agent's word,
    and no part of what is approved. `decide_within` and `use_within` are in seconds,
    and may only shorten what policy gives. With `reviewed_only` a tool that people have
    not reviewed is refused (`tool_not_reviewed`), not registered. Raises `NotExact` for arguments that have
    no exact JSON form.
    """

    tool: str
    arguments: Mapping[str, Any]
    target: Any = None
    preconditions: Sequence[Precondition] = ()
    explanation: str = ""
    tool_call_id: str | None = None
    risk: Risk | None = None
    allowed_decisions: Sequence[Verdict] | None = None
    response_schema: Mapping[str, Any] | None = None
    decide_within: int | None = None
    use_within: int | None = None
    context: str | None = None
    reviewed_only: bool = False

    def __post_init__(self) -> None:
        exact.check(dict(self.arguments), "/arguments")
        exact.check(self.target, "/target")

    def body(self) -> dict[str, Any]:
        allowed, schema = self.allowed_decisions, self.response_schema
        return given(
            tool=self.tool,
            arguments=dict(self.arguments),
            target=self.target,
            preconditions=[one.body() for one in self.preconditions] or None,
            explanation=self.explanation or None,
            tool_call_id=self.tool_call_id,
            risk=self.risk,
            allowed_decisions=None if allowed is None else list(allowed),
            response_schema=None if schema is None else dict(schema),
            decide_within=self.decide_within,
            use_within=self.use_within,
            context=self.context,
            reviewed_only=self.reviewed_only or None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One fact as it is stated, and what vouches for it."""

    value: Any
    provenance: Provenance
    reference: str | None = None
    evidence_digest: str | None = None

    def body(self) -> dict[str, Any]:
        told = given(reference=self.reference, evidence_digest=self.evidence_digest)
        return {"value": self.value, "provenance": self.provenance, **told}


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """A position to come back to: `payload` is opaque, and kept byte for byte."""

    parent: int | None
    payload: str
    schema_version: int = 1
    completed: Sequence[str] = ()
    pending: Sequence[str] = ()
    markers: Mapping[str, Any] | None = None

    def body(self) -> dict[str, Any]:
        header = {
            "completed": list(self.completed),
            "pending": list(self.pending),
            "markers": dict(self.markers or {}),
        }
        return {
            "parent": self.parent,
            "schema_version": self.schema_version,
            "payload": self.payload,
            "header": header,
        }


def given(**members: Any) -> dict[str, Any]:
    """The members that are not None: what was not said is not sent."""
    return {name: value for name, value in members.items() if value is not None}
