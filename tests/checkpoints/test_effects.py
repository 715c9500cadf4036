"""An effect has one outcome, found out and never guessed, however often it is told."""

import time
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from checkpoints.checks import effects_settled
from checkpoints.effects import absence_proved, lock_effect, may_try_again
from checkpoints.models import Effect, Tool
from kernel.ids import new_id
from kernel.outcome import Outcome, Passed, Refused
from kernel.problems import Problem
from sessions.models import Run
from sessions.runs import lock_run
from tenants.principal import Principal
from tenants.verbs import perform
from tests.chain import kinds_of
from tests.checkpoints.steps import (
    again,
    age,
    managed_tool,
    report,
    said,
    settle,
    start,
    stored,
)
from tests.checkpoints.tampering import superuser_says
from tests.factories import House, fresh_house
from tests.refusals import refused

# DESIGN's table, said once more; `again` is one more attempt.
ALLOWED = {
    "intended": "started",
    "started": "confirmed failed unknown absent",
    "confirmed": "",
    "failed": "",
    "unknown": "confirmed failed absent needs_attention",
    "absent": "",
    "needs_attention": "confirmed failed absent",
}
OUTCOMES = ("confirmed", "failed", "unknown", "absent")


@pytest.fixture
def tool(house: House) -> Tool:
    return managed_tool(house, resend=True, attempts=3)


@pytest.fixture
def effect(who: Principal, run: Run, tool: Tool) -> Effect:
    return start(who, run, tool)


def check(effect: Effect, which: Any, **more: Any) -> Outcome:
    return perform(  # type: ignore[no-any-return]
        effect.tenant_id, lambda verb: which(lock_effect(effect.id), **more)
    )


def code(outcome: Outcome) -> tuple[str, str] | None:
    return (outcome.code, outcome.klass) if isinstance(outcome, Refused) else None


def test_an_effect_is_on_record_before_anything_is_sent(
    who: Principal, effect: Effect
) -> None:
    now, (attempt,) = stored(effect)

    assert (now.state, now.attempt, attempt.number, attempt.fence) == (
        "started",
        1,
        1,
        1,
    )
    assert now.due_at is not None
    assert now.due_at > attempt.send_before
    assert attempt.outcome == ""
    assert kinds_of(who.tenant_id, effect.id) == ["effect.started"]


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_the_first_word_is_the_outcome(
    who: Principal, effect: Effect, outcome: str
) -> None:
    report(who, effect, outcome, "CR-771", evidence={"status": 201})
    now, (attempt,) = stored(effect)

    assert (now.state, now.external_id) == (outcome, "CR-771")
    assert attempt.outcome == outcome
    assert attempt.evidence == {"told": said(who, outcome, "CR-771", status=201)}
    assert (now.ended_at is None) == (outcome == "unknown")
    assert (now.due_at is None) == (outcome != "unknown")
    assert kinds_of(who.tenant_id, effect.id)[-1] == f"effect.{outcome}"


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_the_same_word_again_changes_nothing(
    who: Principal, effect: Effect, outcome: str
) -> None:
    report(who, effect, outcome, "CR-771", evidence={"n": 1})
    before, kinds = stored(effect), kinds_of(who.tenant_id, effect.id)
    for external_id in ("CR-771", ""):
        told = report(who, effect, outcome, external_id, evidence={"n": 2})
        assert told.state == outcome
    now = stored(effect)
    assert now[0].ended_at == before[0].ended_at
    assert now[1][0].evidence["told"]["evidence"] == {"n": 1}
    assert kinds_of(who.tenant_id, effect.id) == kinds


@pytest.mark.parametrize("first", ["confirmed", "failed", "absent"])
@pytest.mark.parametrize("second", OUTCOMES)
def test_another_word_is_a_conflict(
    who: Principal, effect: Effect, first: str, second: str
) -> None:
    report(who, effect, first, "CR-771")
    with refused("outcome_conflict", status=409):
        report(who, effect, second, "CR-772" if second == first else "CR-771")
    now, (attempt,) = stored(effect)
    assert (now.state, now.external_id, attempt.outcome) == (first, "CR-771", first)


def test_one_action_of_one_request_is_not_started_twice(
    who: Principal, run: Run, tool: Tool, effect: Effect
) -> None:
    key = bytes(effect.key)
    for end in (None, "unknown"):
        if end:
            report(who, effect, end)
        with refused("acted_already", status=409):
            start(who, run, tool, key=key)
    age(effect, seconds=1)
    settle(who, effect, "absent")
    second = start(who, run, tool, key=key)
    report(who, second, "confirmed")
    with refused("acted_already", status=409):
        start(who, run, tool, key=key)


def test_the_database_itself_holds_one_live_effect_per_key(
    who: Principal, effect: Effect
) -> None:
    import psycopg

    same = (
        "tenant_id, created_at, run_id, tool_id, request, key, action, state, attempt"
    )
    copy = (
        f'insert into checkpoints_effect (id, "grant", external_id, {same})'
        f" select '{new_id()}', '{new_id()}', external_id, {same}"
        f" from checkpoints_effect where id = '{effect.id}'"
    )
    with pytest.raises(psycopg.errors.UniqueViolation, match="effect_key_live_once"):
        superuser_says(copy)


def test_absence_is_proved_only_after_the_tool_has_settled(
    house: House, who: Principal, run: Run
) -> None:
    effect = start(who, run, managed_tool(house, settle=30))
    report(who, effect, "unknown")
    settling = ("effects.settling", "wait")
    assert code(check(effect, absence_proved)) == settling
    age(effect, seconds=29)
    assert code(check(effect, absence_proved)) == settling
    with refused("not_proved", status=409):
        settle(who, effect, "absent")
    age(effect, seconds=31)
    asked_before = time.monotonic() - 5
    assert code(check(effect, absence_proved, asked=asked_before)) == settling
    with refused("not_proved", status=409):
        settle(who, effect, "absent", asked=asked_before)
    assert code(check(effect, absence_proved, asked=time.monotonic())) is None
    assert settle(who, effect, "absent", asked=time.monotonic()).state == "absent"


@pytest.mark.parametrize("by_way_of", [[], ["needs_attention"]])
@pytest.mark.parametrize("end", ["confirmed", "failed", "absent"])
def test_what_is_unknown_is_found_out_or_resolved_by_a_person(
    who: Principal, effect: Effect, by_way_of: list[str], end: str
) -> None:
    report(who, effect, "unknown")
    age(effect, seconds=1)
    for step in [*by_way_of, end]:
        settle(who, effect, step, external_id="CR-771")
    now, _ = stored(effect)
    assert (now.state, now.external_id, now.due_at) == (end, "CR-771", None)
    assert now.ended_at is not None


def test_only_what_is_unknown_is_settled(who: Principal, effect: Effect) -> None:
    with refused("outcome_conflict", status=409):
        settle(who, effect, "confirmed")
    report(who, effect, "confirmed")
    with refused("outcome_conflict", status=409):
        settle(who, effect, "failed")


def test_one_more_attempt_keeps_the_key_and_counts(
    who: Principal, effect: Effect
) -> None:
    report(who, effect, "unknown")
    again(who, effect, fence=4)
    now, (first, second) = stored(effect)

    assert (now.state, now.attempt, now.ended_at) == ("started", 2, None)
    assert bytes(now.key) == bytes(effect.key)
    assert (first.outcome, second.outcome, second.fence) == ("unknown", "", 4)
    report(who, effect, "confirmed", "CR-771", attempt=2, fence=4)
    assert stored(effect)[0].state == "confirmed"


def test_the_first_attempts_late_word_does_not_end_the_second(
    who: Principal, effect: Effect
) -> None:
    report(who, effect, "unknown")
    again(who, effect, fence=4)
    assert report(who, effect, "confirmed", "CR-771").state == "started"
    _, (first, second) = stored(effect)
    assert first.evidence["late"][0]["external_id"] == "CR-771"
    assert second.outcome == ""


def test_an_attempt_that_never_left_us_may_be_made_again(
    house: House, who: Principal, run: Run
) -> None:
    effect = start(who, run, managed_tool(house, resend=False))
    report(who, effect, "absent", evidence={"sent": False})
    again(who, effect)
    assert stored(effect)[0].state == "started"


def test_attempts_are_bounded(who: Principal, effect: Effect) -> None:
    for attempt in (1, 2):
        report(who, effect, "unknown", attempt=attempt)
        again(who, effect)
    report(who, effect, "unknown", attempt=3)
    assert code(check(effect, may_try_again)) == ("effects.attempts_used", "stop")
    with refused("not_proved", status=409):
        again(who, effect)


def test_a_tool_that_might_act_twice_is_not_asked_twice(
    house: House, who: Principal, run: Run
) -> None:
    effect = start(who, run, managed_tool(house, resend=False))
    report(who, effect, "unknown")
    assert code(check(effect, may_try_again)) == ("effects.resend_unsafe", "stop")
    with refused("not_proved", status=409):
        again(who, effect)


@pytest.mark.parametrize("outcome", [None, "confirmed", "failed"])
def test_what_is_under_way_or_done_is_not_tried_again(
    who: Principal, effect: Effect, outcome: str | None
) -> None:
    if outcome:
        report(who, effect, outcome)
    assert code(check(effect, may_try_again)) == ("effects.not_open", "stop")
    with refused("not_proved", status=409):
        again(who, effect)


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (None, ("effects.in_flight", "wait")),
        ("unknown", ("effects.unknown", "wait")),
        ("confirmed", None),
        ("failed", None),
        ("absent", None),
    ],
)
def test_the_effects_check_passes_once_every_end_is_known(
    who: Principal,
    run: Run,
    tool: Tool,
    effect: Effect,
    outcome: str | None,
    expected: tuple[str, str] | None,
) -> None:
    if outcome:
        report(who, effect, outcome)
    report(who, start(who, run, tool), "confirmed")
    outcome_now = settled(run)
    assert code(outcome_now) == expected
    if isinstance(outcome_now, Refused):
        assert list(outcome_now.detail["effects"]) == [str(effect.id)]
    assert isinstance(settled(run, effect), Passed)


def test_the_effects_check_sees_the_run_alone(
    who: Principal, run: Run, effect: Effect
) -> None:
    from sessions.services import start_run

    other, _ = start_run(who=who, session_id=run.session_id)
    assert isinstance(settled(other), Passed)


def test_what_needs_a_person_is_not_settled(
    who: Principal, run: Run, effect: Effect
) -> None:
    report(who, effect, "unknown")
    settle(who, effect, "needs_attention")
    assert code(settled(run)) == ("effects.unknown", "wait")


def settled(run: Run, *excluding: Effect) -> Outcome:
    return perform(
        run.tenant_id,
        lambda verb: effects_settled(
            lock_run(run.id), excluding=[one.id for one in excluding]
        ),
    )


def test_another_tenants_effect_is_not_there(effect: Effect) -> None:
    with refused("not_found", status=404):
        perform(fresh_house().id, lambda verb: lock_effect(effect.id))


def test_the_table_is_complete() -> None:
    assert set(ALLOWED) == set(Effect.State.values)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["report", "settle", "again"]),
        st.sampled_from([*OUTCOMES, "needs_attention"]),
    ),
    min_size=1,
    max_size=7,
)


@settings(
    max_examples=80,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(steps=STEPS)
def test_whatever_is_told_in_whatever_order_the_table_holds(
    who: Principal, run: Run, tool: Tool, steps: list[tuple[str, str]]
) -> None:
    effect = start(who, run, tool)
    age(effect, seconds=1)
    for step, outcome in steps:
        before = stored(effect)[0]
        with suppress(Problem):
            _take(who, effect, step, outcome, before.attempt)
        after, attempts = stored(effect)
        _holds(step, before, after)
        assert len(attempts) == after.attempt <= 3
        assert attempts[-1].number == after.attempt
        assert (after.ended_at is not None) == (not ALLOWED[after.state])
    kinds = kinds_of(who.tenant_id, effect.id)
    assert kinds.count("effect.confirmed") <= 1
    assert kinds.count("effect.started") == after.attempt


def _take(
    who: Principal, effect: Effect, step: str, outcome: str, attempt: int
) -> None:
    if step == "again":
        again(who, effect)
        age(effect, seconds=1)
    elif step == "settle":
        settle(who, effect, outcome if outcome != "unknown" else "needs_attention")
    elif outcome != "needs_attention":
        report(who, effect, outcome, attempt=attempt)


def _holds(step: str, before: Effect, after: Effect) -> None:
    if after.state == before.state and after.attempt == before.attempt:
        return
    if step == "again":
        assert before.state in {"unknown", "absent"}
        assert after.state == "started"
        return
    assert after.state in ALLOWED[before.state].split()
    assert after.attempt == before.attempt
