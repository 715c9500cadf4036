"""Questions, the actions that they are about, and what came of those."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

Next = Literal["wait", "revise", "redeem", "use_answer", "stop", "done"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectSummary:
    """What became of the action; `state` is one of the effect's."""

    id: str
    key: str
    state: str
    external_id: str
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionSummary:
    """One answer, and whether it still counts."""

    verdict: str
    revision: int
    by: str
    on_behalf_of: str | None = None
    at: datetime
    reason: str
    counted: bool
    standing_approval: str | None = None  # by which it was given beforehand


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingApproval:
    """That some questions are answered beforehand; which, is shown to people alone."""

    id: str
    tool: str
    environment: str
    state: str
    by: str
    uses: int
    used: int
    expires_at: datetime
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """A question as its agent reads it; `next` says what to do."""

    id: str
    run: str
    session: str
    pause: str
    queue: str
    tool: str
    mode: str
    tool_call_id: str | None
    status: str
    resolved: bool
    next: Next
    revision: int
    digest: str
    arguments: dict[str, Any]
    target: Any
    title: str
    explanation: str
    risk: str
    reason: str
    response: Any
    effect: EffectSummary | None
    verification: dict[str, Any] | None
    decisions: tuple[DecisionSummary, ...]
    review_url: str
    decide_by: datetime
    use_until: datetime | None
    created_at: datetime
    context: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedApproval(Approval):
    """After one call: also the fence of the run that it opened or paused."""

    fence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HandedEffect:
    """The one action that may happen now, exactly so, before `not_after`."""

    id: str
    tool: str
    target: Any
    arguments: dict[str, Any]
    idempotency_key: str
    fencing_token: int
    attempt: int
    not_after: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Redeemed:
    """The started effect, and the signed token that a tool can check."""

    effect: HandedEffect
    token: str = field(repr=False)
    verification: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    number: int
    fence: int
    send_before: datetime
    outcome: str
    ended_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    id: str
    run: str
    request: str
    tool: str
    target: Any
    arguments: dict[str, Any]
    idempotency_key: str
    state: str
    attempt: int
    attempts: tuple[Attempt, ...]
    external_id: str
    created_at: datetime
    ended_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PausedAt:
    id: str
    number: int
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """The open pause and its questions, in the order in which they were asked."""

    pause: str
    checkpoint: PausedAt
    requests: tuple[Approval, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Interrupt:
    """A framework's questions; `response` is in its own shape, once all are `answered`."""

    id: str
    run: str
    answered: bool
    response: dict[str, Any] | None
    requests: tuple[Approval, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedInterrupt(Interrupt):
    """Right after asking: also the fence of the run that waits."""

    fence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """AG-UI's `outcome` of what was named, and how each question stands."""

    outcome: dict[str, Any]
    requests: tuple[Approval, ...]
