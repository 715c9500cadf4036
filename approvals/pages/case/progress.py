"""From the turned key to the outcome: steps, pins, and what can still be done."""

from dataclasses import replace
from datetime import datetime
from typing import Final

from approvals.models import Grant, Request
from approvals.pages.addresses import address
from approvals.pages.attempts import attempt_rows
from approvals.pages.case.outcome import refusal, state_of
from approvals.pages.case.record import CaseRecord
from approvals.pages.case.telling import TELLING
from approvals.pages.pins import pins_of, pins_waiting
from approvals.pages.selection import Selection
from approvals.presentation.progress import CheckPin, Progress, Step
from checkpoints.models import Tool

# What a step is called once it is done, and until then.
SENT: Final = ("Sent", "Send")
REDEEMED: Final = ("Redeemed", "Agent acts")
LAST_STEP: Final = {
    "confirmed": ("Confirmed", "done"),
    "failed": ("Failed", "bad"),
    "unknown": ("Unknown", "now"),
    "needs_attention": ("Needs attention", "bad"),
}


def progress_of(record: CaseRecord, selection: Selection) -> Progress | None:
    """None before an approval, and where an ending was not about verification."""
    state = state_of(record)
    if state is None:
        return None
    plain = Progress(
        state=state,
        headline="",
        sentence="",
        steps=_steps(record, state),
        pins=_pins(record, state),
        usable_until=record.grant.expires_at if record.grant else None,
        revoke_href=_revoke_href(record, selection),
        waits_until=_waits_until(record),
    )
    told = TELLING[state](record, plain)
    return _with_effect(record, told, _resolve_href(record, selection))


def _pins(record: CaseRecord, state: str) -> tuple[CheckPin, ...]:
    """The newest answers, where they are about this approval."""
    report = refusal(record) if state == "refused" else record.report
    grant = record.grant.id if record.grant else None
    if report is not None and (state == "refused" or report.grant_id == grant):
        return pins_of(report)
    return pins_waiting("moving" if state == "verifying" else "idle")


def _steps(record: CaseRecord, state: str) -> tuple[Step, ...]:
    approved = Step(label="Approved", state="done", at=_granted_at(record))
    if state == "refused":
        report = refusal(record)
        at = report.created_at if report else None
        return (
            approved,
            Step(label="Refused", state="bad", at=at),
            Step(label="Nothing sent"),
        )
    return approved, *_onward(record, state)


def _onward(record: CaseRecord, state: str) -> tuple[Step, ...]:
    verified, sent = _verified_at(record), _sent_at(record)
    label, mark = LAST_STEP.get(state, ("Outcome", ""))
    managed = record.request.tool.mode == Tool.Mode.MANAGED
    waits_for_outcome = sent is not None and state == "acting"
    return (
        _step("Verified", "Verify", verified, now=state in {"queued", "verifying"}),
        _step(*(SENT if managed else REDEEMED), sent, now=state == "acting"),
        Step(label=label, state="now" if waits_for_outcome else mark),
    )


def _step(done: str, to_do: str, at: datetime | None, *, now: bool) -> Step:
    if at is None:
        return Step(label=to_do, state="now" if now else "")
    return Step(label=done, state="done", at=at)


def _granted_at(record: CaseRecord) -> datetime | None:
    return record.grant.created_at if record.grant else None


def _verified_at(record: CaseRecord) -> datetime | None:
    report = record.report
    return report.created_at if report and report.passed else None


def _sent_at(record: CaseRecord) -> datetime | None:
    return record.attempts[-1].created_at if record.attempts else None


def _waits_until(record: CaseRecord) -> datetime | None:
    grant = record.grant
    if grant is None or grant.state != Grant.State.LIVE:
        return None
    return grant.not_before if grant.not_before > record.now else None


def _revoke_href(record: CaseRecord, selection: Selection) -> str:
    """While the grant is live, whoever decides on the queue may end it."""
    live = record.grant is not None and record.grant.state == Grant.State.LIVE
    approved = record.request.state == Request.State.APPROVED
    if not (live and approved and "decide" in record.rights):
        return ""
    return address("revoke", record.slug, record.request.id, query=selection.query)


def _resolve_href(record: CaseRecord, selection: Selection) -> str:
    """Where nothing else can prove it, whoever holds the right says what happened."""
    stuck = state_of(record) == "needs_attention"
    if not stuck or "resolve" not in record.rights:
        return ""
    return address("resolve", record.slug, record.request.id, query=selection.query)


def _with_effect(record: CaseRecord, told: Progress, resolve_href: str) -> Progress:
    effect = record.effect
    if effect is None:
        return told
    return replace(
        told,
        resolve_href=resolve_href,
        effect_id=str(effect.id),
        external_id=effect.external_id,
        attempts=attempt_rows(
            effect,
            record.attempts,
            mode=record.request.tool.mode,
            agent=record.request.agent.name,
        ),
    )
