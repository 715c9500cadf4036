"""Runs: where they stand, what they know, where they can restart, and their contract."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    number: int
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """A file of a session; `sha256` finds its content."""

    sha256: str
    name: str
    type: str
    size: int
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    id: str
    session: str
    state: str
    workflow: str
    workflow_version: int
    stage: str
    external_id: str | None
    fence: int
    lease_until: datetime | None
    head: Head | None
    version: int
    reason: str
    result: Any
    created_at: datetime
    ended_at: datetime | None
    branch: int
    asks_only: bool = False
    """It opened with what was asked in one call, and nothing else was done in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactNow:
    """A fact as it stands. `age_seconds` is by the server's clock.

    One that has `lapsed` counts as if it had not been stated.
    """

    value: Any
    provenance: str
    reference: str
    evidence_digest: str
    observed_at: datetime
    age_seconds: float
    version: int
    lapsed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDocument(RunSummary):
    facts: dict[str, FactNow]
    open_requests: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    id: str
    run: str
    number: int
    parent: int | None
    digest: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint(Saved):
    """A position to come back to; `payload` is the agent's own."""

    schema_version: int
    header: dict[str, Any]
    closes: tuple[str, ...]
    payload: str
    payload_encoding: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored(Checkpoint):
    """In today's schema; `restored` reports how it came to that, and what was done."""

    restored: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fork:
    """A run that begins at another's checkpoint, with nothing of its authority."""

    run: RunDocument
    checkpoint: Saved
    forked_from: dict[str, Any]
    restored: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    version: int
    seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    version: int
    seq: int
    from_state: str
    to_state: str
    from_stage: str
    to_stage: str
    changes: dict[str, Any]
    actor: dict[str, Any]
    reason: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceInHistory:
    version: int
    state: str
    stage: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class State(PlaceInHistory):
    """A run as it was: `seq` is the transition that led there."""

    seq: int
    facts: dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class StateDiff:
    """The facts that differ: `name`, and what they were `before` and `after`."""

    before: PlaceInHistory
    after: PlaceInHistory
    facts: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowSummary:
    """A kind of work, in the version that is in force."""

    kind: str
    version: int
    title: str
    description: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow(WorkflowSummary):
    """A version of the contract: its whole `definition`, and which `versions` there are."""

    definition: dict[str, Any]
    versions: tuple[int, ...]
