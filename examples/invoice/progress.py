"""Where the agent is in one invoice: what its checkpoints hold. Pure.

A checkpoint carries all that the agent needs to go on, and nothing that somebody
else decides: whether the action was approved, and whether it happened, is asked of
those who know when it matters.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from examples.invoice.actions import Action

SCHEMA_VERSION = 2
"""1 had the documents' digests under `digests`; Keyturn hands such checkpoints out as 2."""


class Step(StrEnum):
    """The steps in their order; each is safe to run again from its beginning."""

    READ = "read"
    COMPARE = "compare"
    VALIDATE = "validate"
    PAUSE = "pause"
    ACT = "act"
    FINISH = "finish"


class CheckpointUnreadable(Exception):
    """The checkpoint was not written by this version of the agent; see the message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How the work on an invoice ended.

    `result` is one of sent, held, matches, invalid, answered, not_approved, withdrawn,
    failed.
    """

    result: str
    external_id: str = ""
    detail: str = ""

    def fields(self) -> dict[str, str]:
        return {
            "result": self.result,
            "external_id": self.external_id,
            "detail": self.detail,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """`step` is the one to do next; `digests` are of the documents that were read."""

    invoice_id: str
    step: Step = Step.READ
    order_id: str = ""
    digests: Mapping[str, str] = field(default_factory=dict)
    duplicate_of: str | None = None
    validation_status: str = ""
    action: Action | None = None
    outcome: Outcome | None = None

    def payload(self) -> str:
        """The checkpoint's payload: JSON, the same text for the same progress."""
        values = {
            "invoice_id": self.invoice_id,
            "step": self.step,
            "order_id": self.order_id,
            "documents": {name: {"sha256": one} for name, one in self.digests.items()},
            "duplicate_of": self.duplicate_of,
            "validation_status": self.validation_status,
            "action": self.action.fields() if self.action else None,
            "outcome": self.outcome.fields() if self.outcome else None,
        }
        return json.dumps(values, sort_keys=True, ensure_ascii=False)

    def header(self) -> dict[str, Any]:
        """The part of a checkpoint that everybody understands."""
        steps = list(Step)
        position = steps.index(self.step)
        markers: dict[str, Any] = {"documents": dict(self.digests)}
        if self.validation_status:
            markers |= {"validation_status": self.validation_status}
        return {
            "completed": [str(step) for step in steps[:position]],
            "pending": [str(step) for step in steps[position:]],
            "markers": markers,
        }


def restore(payload: str, *, schema_version: int) -> Progress:
    """Read a checkpoint back, or raise `CheckpointUnreadable`. Nothing is guessed."""
    if schema_version != SCHEMA_VERSION:
        raise CheckpointUnreadable(
            f"the checkpoint has schema {schema_version}, this agent reads"
            f" {SCHEMA_VERSION}: run the version of the agent that wrote it"
        )
    try:
        values = json.loads(payload)
        documents = values.pop("documents")
        values["digests"] = {name: one["sha256"] for name, one in documents.items()}
        values["step"] = Step(values["step"])
        values["action"] = Action(**values["action"]) if values["action"] else None
        values["outcome"] = Outcome(**values["outcome"]) if values["outcome"] else None
        return Progress(**values)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise CheckpointUnreadable(f"the payload is damaged: {error}") from error
