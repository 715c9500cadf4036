"""A call by the agent itself: at most one effect, and never a guess.

Against the real correction process, told to fail in each way.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from examples.invoice.external_call import CorrectionSystem, Report
from tests.examples.correction_process import CorrectionProcess
from tests.examples.waiting import wait_until


@pytest.fixture
def system(corrections: CorrectionProcess) -> Iterator[CorrectionSystem]:
    connection = CorrectionSystem.connect(corrections.url, timeout=0.4)
    yield connection
    connection.http.close()


def effect(**more: Any) -> dict[str, Any]:
    later = datetime.now(UTC) + timedelta(minutes=1)
    return {
        "tool": "hold_payment",
        "arguments": {"invoice_id": "INV-1044", "amount": "1303.50"},
        "idempotency_key": "ab" * 32,
        "fencing_token": 3,
        "not_after": later.isoformat(),
    } | more


CONFIRMED = Report(outcome="confirmed", external_id="PH-501")


def test_it_acts_and_says_what_it_got(system, corrections: CorrectionProcess) -> None:
    assert system.carry_out(effect()) == CONFIRMED
    assert corrections.statistics()["calls"] == {"ab" * 32: 1}


def test_acting_again_sends_nothing(system, corrections: CorrectionProcess) -> None:
    assert system.carry_out(effect()) == system.carry_out(effect()) == CONFIRMED
    assert corrections.statistics()["calls"] == {"ab" * 32: 1}


def test_a_refusal_is_a_failure(system, corrections: CorrectionProcess) -> None:
    corrections.fail_next("refuse", count=10)
    report = system.carry_out(effect())
    assert (report.outcome, report.external_id) == ("failed", "")
    assert "refused" in report.evidence
    assert corrections.statistics()["calls"] == {"ab" * 32: 1}


def test_a_lost_answer_is_found_again(system, corrections: CorrectionProcess) -> None:
    corrections.fail_next("commit_then_drop")
    assert system.carry_out(effect()) == CONFIRMED
    statistics = corrections.statistics()
    assert (statistics["total"], statistics["calls"]) == (1, {"ab" * 32: 1})


@pytest.mark.parametrize("mode", ["hang", "error_500"])
def test_what_did_not_happen_is_sent_again_under_the_same_key(
    system, corrections: CorrectionProcess, mode: str
) -> None:
    corrections.fail_next(mode, count=2)
    assert system.carry_out(effect()) == CONFIRMED
    statistics = corrections.statistics()
    assert (statistics["total"], statistics["calls"]) == (1, {"ab" * 32: 3})


def test_a_late_first_send_is_no_second_effect(
    system, corrections: CorrectionProcess
) -> None:
    corrections.fail_next("commit_late", seconds=1.0)
    assert system.carry_out(effect()) == CONFIRMED
    wait_until(lambda: corrections.statistics()["in_flight"] == 0)
    assert corrections.statistics()["total"] == 1


def test_what_stays_open_is_unknown(system, corrections: CorrectionProcess) -> None:
    corrections.fail_next("error_500", count=100)
    assert system.carry_out(effect()).outcome == "unknown"
    assert corrections.statistics()["calls"] == {"ab" * 32: 3}
    corrections.kill()
    assert system.carry_out(effect()).outcome == "unknown"


def test_nothing_is_sent_past_the_deadline(
    system, corrections: CorrectionProcess
) -> None:
    past = (datetime.now(UTC) - timedelta(seconds=1)).isoformat()
    assert system.carry_out(effect(not_after=past)).outcome == "unknown"
    assert corrections.statistics()["calls"] == {}


def test_past_the_deadline_an_earlier_success_is_still_found(
    system, corrections: CorrectionProcess
) -> None:
    system.carry_out(effect())
    past = (datetime.now(UTC) - timedelta(seconds=1)).isoformat()
    assert system.carry_out(effect(not_after=past)) == CONFIRMED
