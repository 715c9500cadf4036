"""The page of the system: what was looked at, what to do, what is due."""

from typing import Any

import pytest

from approvals.models import Request
from config.doctor import examine
from oversight import examination
from oversight.examination import Finding
from tenants.models import Role
from tests.approvals.stage import Stage, fresh_stage
from tests.approvals.views.browsing import reader
from tests.approvals.views.test_deciding import stuck
from tests.factories import fresh_member


@pytest.fixture
def stage() -> Stage:
    return fresh_stage()


def shown(stage: Stage) -> Any:
    answer = reader(stage, stage.house.alice).get("system")
    assert answer.status_code == 200
    return answer.context["system"]


def test_it_says_what_the_doctor_says(stage: Stage) -> None:
    said = {one.name: str(one.state) for one in examine()}
    assert {row.name: row.state for row in shown(stage).findings} == said


def test_what_is_not_well_comes_with_what_to_do(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [
        Finding(name="broker", state="failed", detail="<b>does not answer</b>"),
        Finding(name="mail", state="warning", detail="not set"),
        Finding(name="clock", state="ok", detail="fine"),
    ]
    monkeypatch.setattr(examination, "_examine", [lambda: found])
    view = shown(stage)
    assert (view.tone, [bool(row.advice) for row in view.findings]) == (
        "bad",
        [True, True, False],
    )
    assert (
        "<b>does" not in reader(stage, stage.house.alice).get("system").content.decode()
    )


def work(stage: Stage) -> dict[str, tuple[int, int]]:
    return {row.name: (row.waiting, row.stuck) for row in shown(stage).work}


def test_what_is_due_is_counted(stage: Stage) -> None:
    before = work(stage)
    assert set(before.values()) == {(0, 0)}
    asked: Request = stage.ask()
    assert work(stage)["Questions that wait for people"] == (1, 0)
    stage.answer(asked)
    assert work(stage)["Answers to carry out"] == (1, 0)


def test_what_needs_a_person_is_counted(stage: Stage) -> None:
    stuck(stage)
    assert work(stage)["Effects to find out about"] == (1, 0)
    assert work(stage)["Runs"][1] == 1


def test_only_who_administers_sees_it(stage: Stage) -> None:
    auditor = fresh_member(stage.house.alice, "Aud", role=Role.AUDITOR)
    for who in (stage.bob, auditor):
        assert reader(stage, who).get("system").status_code == 403
