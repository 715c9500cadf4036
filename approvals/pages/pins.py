"""The four checks as pins: what each one held, or the one that is off the line."""

from collections.abc import Mapping
from typing import Any, Final

from approvals.models import VerificationReport
from approvals.presentation.progress import CHECKS, CheckPin

HELD: Final = {
    "identity": "Tenant, session, agent and key are those that asked, all still enabled.",
    "position": "The run stands where it asked, and its checkpoint is intact.",
    "effects": "Every earlier effect has an outcome that was proved.",
    "authority": "Today’s people and policy still allow exactly this, once.",
}
ASKED: Final = {
    "identity": "Are these the tenant, session, agent and key that asked?",
    "position": "Does the run still stand where it asked?",
    "effects": "Has every earlier effect a proved outcome?",
    "authority": "Do today’s people and policy still allow exactly this?",
}


def pins_of(report: VerificationReport) -> tuple[CheckPin, ...]:
    """The stored answers, in the order in which they are asked."""
    answers = {one["check"]: one for one in report.checks}
    return tuple(_pin(name, answers.get(name)) for name in CHECKS)


def pins_waiting(state: str) -> tuple[CheckPin, ...]:
    """Four pins without an answer: `moving` while they are checked, else `idle`."""
    return tuple(
        CheckPin(name=name, state=state, sentence=ASKED[name]) for name in CHECKS
    )


def _pin(name: str, answer: Mapping[str, Any] | None) -> CheckPin:
    if answer is None:
        return CheckPin(name=name, state="idle", sentence="Not asked this time.")
    if answer["passed"]:
        return CheckPin(name=name, state="set", sentence=HELD[name])
    return CheckPin(name=name, state="blocked", sentence=str(answer["reason"]))
