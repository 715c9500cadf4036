"""Approvals and effects: asking, waiting, using an approval up, saying what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

from keyturn import documents, exact
from keyturn.asks import Ask, Position, given
from keyturn.calling import Answer, Call, get, key_of, listed, path_of, post
from keyturn.documents import (
    Approval,
    AskedApproval,
    Effect,
    EffectSummary,
    Page,
    Pause,
    Redeemed,
    StandingApproval,
)

Outcome = Literal["confirmed", "failed", "unknown"]
Until = Literal["decided", "done"]
NOT_MODIFIED = 304


class Known(NamedTuple):
    """An approval as it was read, and the tag of that state."""

    approval: Approval
    tag: str | None


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
    return post(AskedApproval, "approvals", body, key, fence)


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
    return post(Pause, path_of("runs", run, "pause"), body, key, fence)


def get_approval(
    approval: str, *, wait: int = 0, until: Until = "done"
) -> Call[Approval]:
    """Read an approval, or wait up to `wait` seconds (at most 60) for it."""
    query = {"wait": wait, "until": until} if wait else {}
    return get(Approval, path_of("approvals", approval), **query)


def poll_approval(
    approval: str, known: Known | None, *, wait: int, until: Until
) -> Call[Known]:
    """The same, with the tag of what is known already: that is not sent again."""

    def read(answer: Answer) -> Known:
        if answer.status == NOT_MODIFIED and known is not None:
            return known
        return Known(documents.read(Approval, answer.document), answer.tag)

    return Call(
        method="GET",
        path=path_of("approvals", approval),
        query={"wait": wait, "until": until} if wait else {},
        read=read,
        more={"If-None-Match": known.tag} if known and known.tag else {},
    )


def list_approvals(
    *,
    status: str | None = None,
    run: str | None = None,
    cursor: str | None = None,
    limit: int | None = None,
) -> Call[Page[Approval]]:
    """What the agent asked for, newest first."""
    named = {"status": status, "run": run}
    return listed(Approval, "approvals", **named, cursor=cursor, limit=limit)


def list_standing_approvals(
    *, cursor: str | None = None, limit: int | None = None
) -> Call[Page[StandingApproval]]:
    """What people agreed to beforehand for this agent, newest first."""
    return listed(StandingApproval, "standing-approvals", cursor=cursor, limit=limit)


def revise_approval(
    approval: str,
    *,
    arguments: Mapping[str, Any],
    explanation: str | None = None,
    key: str | None = None,
) -> Call[Approval]:
    """Give new arguments after changes were asked for."""
    body = {"arguments": dict(arguments), **given(explanation=explanation)}
    return post(Approval, path_of("approvals", approval, "revise"), body, key)


def withdraw_approval(
    approval: str, *, reason: str, key: str | None = None
) -> Call[Approval]:
    """Take a question back, also an approved one, until it was acted upon."""
    path = path_of("approvals", approval, "withdraw")
    return post(Approval, path, {"reason": reason}, key)


def redeem_approval(
    approval: str, *, fence: int, key: str | None = None
) -> Call[Redeemed]:
    """Use the approval up, and receive the one action that may happen now."""
    return post(Redeemed, path_of("approvals", approval, "redeem"), {}, key, fence)


def redeem_in_time(approval: str, *, fence: int) -> Call[tuple[Redeemed, float]]:
    """The same; also for how many seconds from now it may be acted upon."""

    def read(answer: Answer) -> tuple[Redeemed, float]:
        redeemed = documents.read(Redeemed, answer.document)
        now = answer.clock or datetime.now(UTC)
        return redeemed, (redeemed.effect.not_after - now).total_seconds()

    return Call(
        method="POST",
        path=path_of("approvals", approval, "redeem"),
        content=exact.encode({}),
        key=key_of(None),
        fence=fence,
        read=read,
    )


def get_effect(effect: str) -> Call[Effect]:
    """Read an effect with its attempts."""
    return get(Effect, path_of("effects", effect))


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
    return post(EffectSummary, path_of("effects", effect, "report"), body, key, fence)
