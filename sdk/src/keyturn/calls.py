"""Each operation of the API as a frozen value: what is sent, and how it is read.

Nothing here touches the network. A call's body and idempotency key are fixed when it is
made, so that sending it again is the same request, byte for byte.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Generic, Literal, TypeVar
from urllib.parse import quote
from uuid import uuid4

from keyturn import documents, exact
from keyturn.asks import Ask, Fact, Position, given
from keyturn.documents import (
    Approval,
    AskedApproval,
    Checkpoint,
    Effect,
    EffectSummary,
    Items,
    Page,
    Pause,
    Places,
    Redeemed,
    RunDocument,
    RunSummary,
    Saved,
    Session,
    Transition,
    Version,
)

T = TypeVar("T")
Outcome = Literal["confirmed", "failed", "unknown"]
Until = Literal["decided", "done"]

_KEY = re.compile(r"[\x21-\x7e]{1,255}")


@dataclass(frozen=True, slots=True)
class Answer:
    """A success: its status and JSON."""

    status: int
    document: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Generic[T]):
    """One request; a POST always has a `key`, so that it may be sent again."""

    method: str
    path: str
    read: Callable[[Answer], T]
    query: Mapping[str, str | int] = field(default_factory=dict)
    content: bytes | None = None
    key: str | None = None
    fence: int | None = None

    def headers(self) -> dict[str, str]:
        told = {}
        if self.content is not None:
            told["Content-Type"] = "application/json"
        if self.key is not None:
            told["Idempotency-Key"] = self.key
        if self.fence is not None:
            told["Keyturn-Fence"] = str(self.fence)
        return told


# -- Sessions and runs ------------------------------------------------------------------


def open_session(
    *,
    subject: str,
    title: str | None = None,
    external_id: str | None = None,
    key: str | None = None,
) -> Call[Session]:
    """Open a session, or find the agent's own with this `external_id`."""
    body = given(subject=subject, title=title, external_id=external_id)
    return _post(Session, "sessions", body, key)


def get_session(session: str) -> Call[Session]:
    """Read a session."""
    return _get(Session, _path("sessions", session))


def list_sessions(
    *,
    external_id: str | None = None,
    cursor: str | None = None,
    limit: int | None = None,
) -> Call[Page[Session]]:
    """The agent's sessions, newest first."""
    return _list(
        Session, "sessions", external_id=external_id, cursor=cursor, limit=limit
    )


def append_items(
    session: str,
    items: Iterable[Any],
    *,
    run: str | None = None,
    fence: int | None = None,
    key: str | None = None,
) -> Call[Places]:
    """Add what was said, all of it or nothing; it is kept as it is."""
    body = {"items": list(items), **given(run=run)}
    content = exact.encode(body, in_order=True)
    return _post(Places, _path("sessions", session, "items"), content, key, fence)


def list_items(session: str, *, limit: int | None = None) -> Call[Items]:
    """The latest `limit` items, in the order in which they were said."""
    return _get(Items, _path("sessions", session, "items"), limit=limit)


def start_run(
    session: str,
    *,
    external_id: str | None = None,
    workflow: str | None = None,
    lease_seconds: int | None = None,
    key: str | None = None,
) -> Call[RunDocument]:
    """Start a run and be its writer; or find the one with this `external_id`."""
    return _post(*_start(session, external_id, workflow, lease_seconds), key)


def start_or_find_run(
    session: str,
    *,
    external_id: str,
    workflow: str | None = None,
    lease_seconds: int | None = None,
) -> Call[tuple[RunDocument, bool]]:
    """The same; also says whether it is new, and with that claimed by the caller."""
    kind, path, body = _start(session, external_id, workflow, lease_seconds)
    return Call(
        method="POST",
        path=path,
        content=exact.encode(body),
        key=_key(None),
        read=lambda answer: (
            documents.read(kind, answer.document),
            answer.status == 201,
        ),
    )


def get_run(run: str) -> Call[RunDocument]:
    """Read a run with its facts and open questions."""
    return _get(RunDocument, _path("runs", run))


def list_runs(
    *,
    external_id: str | None = None,
    state: str | None = None,
    cursor: str | None = None,
    limit: int | None = None,
) -> Call[Page[RunSummary]]:
    """The agent's runs, newest first."""
    named = {"external_id": external_id, "state": state}
    return _list(RunSummary, "runs", **named, cursor=cursor, limit=limit)


def claim_run(
    run: str, *, lease_seconds: int | None = None, key: str | None = None
) -> Call[RunDocument]:
    """Become the run's one writer, under a new fence."""
    body = given(lease_seconds=lease_seconds)
    return _post(RunDocument, _path("runs", run, "claim"), body, key)


def heartbeat_run(
    run: str, *, fence: int, lease_seconds: int | None = None, key: str | None = None
) -> Call[RunDocument]:
    """Stay the run's writer for `lease_seconds` from now."""
    body = given(lease_seconds=lease_seconds)
    path = _path("runs", run, "heartbeat")
    return _post(RunDocument, path, body, key, fence)


def record_transition(
    run: str,
    *,
    fence: int,
    expected_version: int,
    reason: str,
    facts: Mapping[str, Fact] | None = None,
    stage: str | None = None,
    key: str | None = None,
) -> Call[Version]:
    """State facts, or move to another stage, if nothing changed since `expected_version`."""
    told = {name: fact.body() for name, fact in (facts or {}).items()}
    body = {
        "expected_version": expected_version,
        "reason": reason,
        **given(facts=told or None, stage=stage),
    }
    return _post(Version, _path("runs", run, "transitions"), body, key, fence)


def list_transitions(
    run: str, *, cursor: str | None = None, limit: int | None = None
) -> Call[Page[Transition]]:
    """What a run went through, newest first."""
    path = _path("runs", run, "transitions")
    return _list(Transition, path, cursor=cursor, limit=limit)


def complete_run(
    run: str, *, fence: int, result: Any = None, key: str | None = None
) -> Call[RunDocument]:
    """End the run as done."""
    body = given(result=result)
    return _post(RunDocument, _path("runs", run, "complete"), body, key, fence)


def fail_run(
    run: str, *, fence: int, reason: str, key: str | None = None
) -> Call[RunDocument]:
    """End the run as failed; a paused one's questions are taken back."""
    body = {"reason": reason}
    return _post(RunDocument, _path("runs", run, "fail"), body, key, fence)


def cancel_run(
    run: str, *, fence: int, reason: str, key: str | None = None
) -> Call[RunDocument]:
    """End the run as not wanted; a paused one's questions are taken back."""
    body = {"reason": reason}
    return _post(RunDocument, _path("runs", run, "cancel"), body, key, fence)


# -- Checkpoints ------------------------------------------------------------------------


def save_checkpoint(
    run: str, position: Position, *, fence: int, key: str | None = None
) -> Call[Saved]:
    """Save where the run can restart, after the head that the caller has seen."""
    path = _path("runs", run, "checkpoints")
    return _post(Saved, path, position.body(), key, fence)


def get_checkpoint(run: str, number: int | Literal["head"]) -> Call[Checkpoint]:
    """Read a checkpoint; its digest is checked."""
    return _get(Checkpoint, _path("runs", run, "checkpoints", str(number)))


# -- Approvals and effects --------------------------------------------------------------


def request_approval(
    ask: Ask,
    *,
    run: str | None = None,
    fence: int | None = None,
    session: str | None = None,
    subject: str | None = None,
    key: str | None = None,
) -> Call[AskedApproval]:
    """Ask in one call; session, run and checkpoint open along the way where missing."""
    body = {**ask.body(), **given(run=run, session=session, subject=subject)}
    return _post(AskedApproval, "approvals", body, key, fence)


def pause_run(
    run: str,
    position: Position,
    asks: Sequence[Ask],
    *,
    fence: int,
    resume_when: Literal["all", "each"] | None = None,
    key: str | None = None,
) -> Call[Pause]:
    """Save a checkpoint and ask from it: all of it, or nothing."""
    body = {
        "checkpoint": position.body(),
        "requests": [one.body() for one in asks],
        **given(resume_when=resume_when),
    }
    return _post(Pause, _path("runs", run, "pause"), body, key, fence)


def get_approval(
    approval: str, *, wait: int = 0, until: Until = "done"
) -> Call[Approval]:
    """Read an approval, or wait up to `wait` seconds (at most 60) for it."""
    query = {"wait": wait, "until": until} if wait else {}
    return _get(Approval, _path("approvals", approval), **query)


def list_approvals(
    *,
    status: str | None = None,
    run: str | None = None,
    cursor: str | None = None,
    limit: int | None = None,
) -> Call[Page[Approval]]:
    """What the agent asked for, newest first."""
    named = {"status": status, "run": run}
    return _list(Approval, "approvals", **named, cursor=cursor, limit=limit)


def revise_approval(
    approval: str,
    *,
    arguments: Mapping[str, Any],
    explanation: str | None = None,
    key: str | None = None,
) -> Call[Approval]:
    """Give new arguments after changes were asked for."""
    body = {"arguments": dict(arguments), **given(explanation=explanation)}
    return _post(Approval, _path("approvals", approval, "revise"), body, key)


def withdraw_approval(
    approval: str, *, reason: str, key: str | None = None
) -> Call[Approval]:
    """Take a question back, also an approved one, until it was acted upon."""
    path = _path("approvals", approval, "withdraw")
    return _post(Approval, path, {"reason": reason}, key)


def redeem_approval(
    approval: str, *, fence: int, key: str | None = None
) -> Call[Redeemed]:
    """Use the approval up, and receive the one action that may happen now."""
    return _post(Redeemed, _path("approvals", approval, "redeem"), {}, key, fence)


def get_effect(effect: str) -> Call[Effect]:
    """Read an effect with its attempts."""
    return _get(Effect, _path("effects", effect))


def report_effect(
    effect: str,
    *,
    fence: int,
    attempt: int,
    outcome: Outcome,
    external_id: str | None = None,
    evidence: Mapping[str, Any] | None = None,
    key: str | None = None,
) -> Call[EffectSummary]:
    """Say what came of an attempt; the same again is answered alike."""
    proof = None if evidence is None else dict(evidence)
    body = {
        "attempt": attempt,
        "outcome": outcome,
        **given(external_id=external_id, evidence=proof),
    }
    return _post(EffectSummary, _path("effects", effect, "report"), body, key, fence)


# -- How they are put together ----------------------------------------------------------


def key_from(*words: str) -> str:
    """An idempotency key from words of any kind: the same ones, the same key."""
    text = "/".join(words)
    return text if _KEY.fullmatch(text) else sha256(text.encode()).hexdigest()


def _start(
    session: str,
    external_id: str | None,
    workflow: str | None,
    lease_seconds: int | None,
) -> tuple[type[RunDocument], str, dict[str, Any]]:
    body = given(
        external_id=external_id, workflow=workflow, lease_seconds=lease_seconds
    )
    return RunDocument, _path("sessions", session, "runs"), body


def _get(kind: type[T], path: str, **query: Any) -> Call[T]:
    return Call(
        method="GET",
        path=path,
        query=given(**query),
        read=lambda answer: documents.read(kind, answer.document),
    )


def _list(kind: type[T], path: str, **query: Any) -> Call[Page[T]]:
    return Call(
        method="GET",
        path=path,
        query=given(**query),
        read=lambda answer: documents.read_page(kind, answer.document),
    )


def _post(
    kind: type[T],
    path: str,
    body: dict[str, Any] | bytes,
    key: str | None,
    fence: int | None = None,
) -> Call[T]:
    return Call(
        method="POST",
        path=path,
        content=body if isinstance(body, bytes) else exact.encode(body),
        key=_key(key),
        fence=fence,
        read=lambda answer: documents.read(kind, answer.document),
    )


def _key(key: str | None) -> str:
    return uuid4().hex if key is None else key_from(key)


def _path(*words: str) -> str:
    """Words come from outside: one with a slash must not become another address."""
    return "/".join(_segment(word) for word in words)


def _segment(word: str) -> str:
    if word in ("", ".", ".."):
        raise ValueError(f"{word!r} names nothing")
    return quote(word, safe="")
