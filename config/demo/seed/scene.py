"""A scene: the work of an agent that leads to one question."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from approvals.asks import Ask
from sessions.contract import Claim
from sessions.models import Provenance

type Facts = Mapping[str, Claim]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One run up to its question. `looked_up` is what tools said, by tool and input."""

    agent: str
    subject: str
    title: str
    instruction: str
    looked_up: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    facts: Facts = field(default_factory=dict)
    ask: Ask

    @property
    def items(self) -> list[str]:
        """The conversation, as the exact JSON texts that agents send."""
        said: list[dict[str, Any]] = [
            {"type": "message", "role": "user", "content": self.instruction}
        ]
        for call, output in self.looked_up.items():
            name, _, about = call.partition(" ")
            said += [
                {
                    "type": "function_call",
                    "call_id": call,
                    "name": name,
                    "arguments": json.dumps({"about": about}),
                },
                {
                    "type": "function_call_output",
                    "call_id": call,
                    "output": json.dumps(output),
                },
            ]
        return [json.dumps(one, ensure_ascii=False) for one in said]


def tool(value: Any, reference: str) -> Claim:
    """A fact that a tool's answer proves."""
    evidence = hashlib.sha256(f"{reference} {value!r}".encode()).hexdigest()
    return Claim(
        value=value,
        provenance=Provenance.TOOL,
        reference=reference,
        evidence_digest=evidence,
    )


def user(value: Any) -> Claim:
    """A fact that the person served has stated."""
    return Claim(value=value, provenance=Provenance.USER, reference="item 1")


def guess(value: Any) -> Claim:
    """What the model believes. It never grants anything."""
    return Claim(value=value, provenance=Provenance.MODEL)
