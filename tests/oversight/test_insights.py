"""Insights: what the charts say is what the rows say, counted in another way."""

from collections import Counter
from datetime import date, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.models import Decision, Request
from approvals.services.taking_back import take_back
from kernel.clock import database_now
from kernel.scope import tenant_transaction
from oversight.pages.insights.measure import AGES, OUTCOMES
from oversight.presentation.insights import HIGH, lines, stacked
from oversight.tallies import today
from tenants.models import Role
from tests.approvals.glass_stage import glass_stage
from tests.approvals.stage import ARGUMENTS, Stage, fresh_stage
from tests.approvals.superuser import superuser
from tests.approvals.test_resume import work_all
from tests.approvals.views.browsing import reader
from tests.factories import fresh_member

V = Decision.Verdict
ENDS = {
    "approved": "approved",
    "consumed": "approved",
    "rejected": "rejected",
    "answered": "answered",
    "expired": "expired",
    "lapsed": "expired",
    "cancelled": "taken back",
    "revoked": "taken back",
}


@pytest.fixture(scope="module")
def stage() -> Stage:
    stage = fresh_stage()
    for number in range(7):
        request = stage.ask()
        if number % 3 == 0:
            stage.answer(request, verdict=V.REJECT, reason="No.")
        elif number % 3 == 1:
            stage.answer(request)
        age(request, days=2 * number)
    refused = stage.ask()
    stage.answer(refused)
    with superuser() as root:
        root.execute(
            "UPDATE approvals_grant SET expires_at = not_before + interval '1 us',"
            " not_before = not_before - interval '1 hour' WHERE request_id = %s",
            [refused.id],
        )
    work_all(stage, refused)
    return stage


def age(request: Request, *, days: int) -> None:
    """As if it had been asked, and decided, that many days ago."""
    with superuser() as root:
        root.execute(
            "UPDATE approvals_request SET created_at = created_at - %s,"
            " decided_at = decided_at - %s + interval '5 minutes' WHERE id = %s",
            [timedelta(days=days), timedelta(days=days), request.id],
        )


def shown(stage: Stage, query: str = "") -> Any:
    answer = reader(stage, stage.house.alice).get(f"insights{query}")
    assert answer.status_code == 200
    return answer.context["insights"]


def asked(stage: Stage) -> list[Request]:
    with tenant_transaction(stage.tenant_id):
        return list(Request.objects.all())


def test_outcomes_are_those_of_the_rows(stage: Stage) -> None:
    rows = asked(stage)
    counted = Counter(ENDS[one.state] for one in rows if one.state in ENDS)
    view = shown(stage)
    assert dict(view.outcomes.names) == {name: counted[name] for name in OUTCOMES}
    by_day = Counter(today(one.created_at) for one in rows if one.state in ENDS)
    assert {day: sum(row) for day, row in view.outcomes.rows if sum(row)} == by_day


def test_a_shorter_range_holds_less(stage: Stage) -> None:
    view = shown(stage, "?days=7")
    assert len(view.outcomes.rows) == 7
    since = today(view.now) - timedelta(days=6)
    recent = [one for one in asked(stage) if today(one.created_at) >= since]
    closed = sum(one.state in ENDS for one in recent)
    assert closed < sum(count for _, count in shown(stage).outcomes.names)
    assert sum(count for _, count in view.outcomes.names) == closed
    assert view.figures[0].value == str(closed)


def test_waiting_refusals_tools_and_people_are_counted(stage: Stage) -> None:
    rows, view = asked(stage), shown(stage)
    waiting = sum(one.state == "pending" for one in rows)
    assert sum(bar.count for bar in view.ages) == waiting > 0
    assert [(bar.name, bar.count) for bar in view.tools] == [
        (stage.tool.name, len(rows))
    ]
    assert [(bar.name, bar.count) for bar in view.agents] == [
        (stage.house.robot.agent.name, len(rows))
    ]
    with tenant_transaction(stage.tenant_id):
        decided = Decision.objects.filter(member__isnull=False).count()
        approved = Decision.objects.select_related("request").filter(verdict=V.APPROVE)
        hours = Counter(
            (today(one.request.created_at), f"{one.created_at:%d %H}")
            for one in approved
        )
    (load,) = view.loads
    assert load.busiest == max(hours.values())
    assert (load.name, load.decisions) == (str(stage.bob.user), decided)
    assert (load.reading, load.hasty, load.hint) == ("", 0, "")  # all by the API


def test_what_was_taken_back_is_nobodys_decision() -> None:
    stage = fresh_stage()
    carol = stage.reviewer("Carol")
    stage.policy(rules=[{"approvals": 2}])
    request = stage.ask()
    stage.answer(request)
    digest = stage.digest(request)
    take_back(stage.bob.person, request_id=request.id, digest=digest)
    stage.answer(request, carol)
    assert [(one.name, one.decisions) for one in shown(stage).loads] == [("Carol", 1)]
    stage.answer(request)
    counted = {one.name: one.decisions for one in shown(stage).loads}
    assert counted == {"Carol": 1, str(stage.bob.user): 1}


def test_what_was_given_back_edited_or_broken_is_counted() -> None:
    stage = glass_stage()
    given_back, edited, broken = stage.ask(), stage.ask(), stage.ask()
    for one in (stage.bob, stage.reviewer("Carol")):
        stage.answer(given_back, one)
    less = {**ARGUMENTS, "amount": "1.00"}
    stage.answer(edited, verdict=V.EDIT, arguments=less, reason="Less.")
    stage.smash(broken)
    stage.policy("more", rules=[{"approvals": 3}])
    work_all(stage, given_back)
    figures = {one.name: one for one in shown(stage).figures}
    reopened, overrides = figures["Re-opened by a check"], figures["Overrides"]
    assert (reopened.value, reopened.note) == ("1", "33 % of what was asked")
    assert overrides.value == "2"
    assert overrides.note == "1 edited, 1 with the glass broken"


def test_what_waits_is_counted_by_how_long_it_does(stage: Stage) -> None:
    now, found = database_now(), Counter[str]()
    for one in asked(stage):
        if one.state == "pending":
            waits = (now - one.created_at).total_seconds()
            found[[name for name, least in AGES.items() if waits >= least][-1]] += 1
    counted = {bar.name: bar.count for bar in shown(stage).ages}
    assert list(counted) == list(AGES)
    assert {name: count for name, count in counted.items() if count} == found
    assert found["Over a day"] > 0


def test_who_decides_faster_than_anyone_reads_is_told_of() -> None:
    stage = fresh_stage()
    bob = reader(stage)
    for _ in range(3):
        assert bob.decide(stage.ask().id, "approve").status_code in {302, 303}
    (load,) = shown(stage).loads
    assert (load.decisions, load.hasty) == (3, 3)
    assert "within 3 s of the first view" in load.hint
    assert load.reading
    assert "first view after" in shown(stage).figures[1].note


def test_an_unknown_range_or_queue_is_the_usual_one(stage: Stage) -> None:
    usual, found = shown(stage), shown(stage, "?days=x&queue=y")
    if today(found.now) != today(usual.now):
        usual = shown(stage)
    assert found.outcomes == usual.outcomes


def test_a_new_tenant_sees_that_nothing_was_decided() -> None:
    view = shown(fresh_stage())
    assert view.empty
    assert view.figures[1].value == "none"


def test_only_those_who_oversee_see_it(stage: Stage) -> None:
    assert reader(stage).get("insights").status_code == 403
    auditor = fresh_member(stage.house.alice, "Aud", role=Role.AUDITOR)
    assert reader(stage, auditor).get("insights").status_code == 200


DAYS = [date(2026, 11, 1) + timedelta(days=n) for n in range(9)]


@given(
    st.dictionaries(
        st.tuples(st.sampled_from(DAYS), st.sampled_from(OUTCOMES)),
        st.integers(0, 10_000),
    )
)
def test_a_days_blocks_stand_on_each_other_inside_the_chart(counts: Any) -> None:
    chart = stacked(OUTCOMES, DAYS, counts)
    top = chart.scale[0]
    assert all(4 * step % top == 0 for step in chart.scale)
    assert top >= max((sum(row) for _, row in chart.rows), default=0)
    for x in {block.x for block in chart.blocks}:
        pile = [block for block in chart.blocks if block.x == x]
        bottom = float(HIGH)
        for block in pile:
            assert block.y + block.height == pytest.approx(bottom, abs=0.05)
            bottom = block.y
        assert bottom >= -0.05


def test_a_day_without_decisions_interrupts_the_line() -> None:
    times = {DAYS[0]: (60.0, 90.0), DAYS[2]: (60.0, 90.0)}
    chart = lines(DAYS, times, {})
    assert chart.median.count("M") == 2
    assert "L" not in chart.median
