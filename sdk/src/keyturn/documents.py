"""What the server answers with, as frozen values.

Members that this version does not know are left out; a missing or misshapen one raises
`Unintelligible`. Times are aware datetimes.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import datetime
from functools import cache
from typing import Any, Generic, Literal, TypeVar

from keyturn.errors import Unintelligible

T = TypeVar("T")
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
    at: datetime
    reason: str
    counted: bool


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
class Session:
    id: str
    subject: str
    title: str
    external_id: str | None
    state: str
    created_at: datetime


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
class Item:
    id: str
    position: int
    run: str | None
    data: Any
    created_at: datetime
    fence: int | None
    branch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Items:
    """The latest items, in their order; `more` says that earlier ones exist."""

    items: tuple[Item, ...]
    more: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    id: str
    position: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    items: tuple[Place, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Popped:
    """The item that was taken back, or None where there was none."""

    item: Item | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    removed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    number: int
    origin: int
    at: int
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    id: str
    session: str
    branch: int
    first: int
    last: int
    inputs: str
    method: str
    text: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a model should see; `input` is in the shape that was asked for."""

    run: str
    session: str
    version: int
    shape: str
    max_tokens: int
    tokens: int
    included: tuple[dict[str, Any], ...]
    dropped: tuple[dict[str, Any], ...]
    input: Any
    digest: str


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[T]):
    """A page of a list; `next` is the cursor of the following one, or None."""

    items: tuple[T, ...]
    next: str | None


# -- Reading them -----------------------------------------------------------------------


def read(kind: type[T], document: Any) -> T:
    """The value that a document describes. Raises `Unintelligible`."""
    shape: Any = kind
    try:
        value: T = _reader(shape)(document)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise Unintelligible(f"this is no {kind.__name__}: {error!r}") from error
    return value


def read_page(kind: type[T], document: Any) -> Page[T]:
    """A page of such values. Raises `Unintelligible`."""
    if not isinstance(document, Mapping):
        raise Unintelligible("this is no page")
    items = tuple(read(kind, one) for one in document.get("items", ()))
    return Page(items=items, next=document.get("next"))


@cache
def _reader(kind: Any) -> Callable[[Any], Any]:
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        some = _reader(next(one for one in inner if one is not types.NoneType))
        return lambda value: None if value is None else some(value)
    if origin is tuple:
        each = _reader(inner[0])
        return lambda value: tuple(each(one) for one in value)
    if origin is dict:
        held = _reader(inner[1])
        return lambda value: {key: held(one) for key, one in value.items()}
    if origin is Literal:
        return _exactly(str)
    if is_dataclass(kind):
        return _object_reader(kind)
    return _SIMPLE.get(kind, lambda value: value)


def _object_reader(kind: Any) -> Callable[[Any], Any]:
    hints = typing.get_type_hints(kind)
    readers = {one.name: _reader(hints[one.name]) for one in fields(kind)}

    def read_object(document: Any) -> Any:
        found = {name: read(document[name]) for name, read in readers.items()}
        return kind(**found)

    return read_object


def _exactly(kind: type) -> Callable[[Any], Any]:
    def take(value: Any) -> Any:
        if type(value) is not kind:
            raise TypeError(f"a {type(value).__name__} is no {kind.__name__}")
        return value

    return take


def _number(value: Any) -> float:
    if type(value) not in (int, float):
        raise TypeError(f"a {type(value).__name__} is no number")
    return float(value)


def _time(value: Any) -> datetime:
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        raise ValueError("this is no time") from None


_SIMPLE: Mapping[Any, Callable[[Any], Any]] = {
    str: _exactly(str),
    int: _exactly(int),
    bool: _exactly(bool),
    float: _number,
    datetime: _time,
}
