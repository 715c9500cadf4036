"""Put aside in one's own view: back by itself, and as soon as the request changes."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from approvals.models import Decision, Request
from approvals.services.snoozing import snooze
from tests.approvals.stage import ARGUMENTS, Stage
from tests.approvals.superuser import superuser
from tests.approvals.views.browsing import reader
from tests.refusals import refused

V = Decision.Verdict


def shown(stage: Stage, view: str = "mine") -> list[str]:
    return [row.id for row in reader(stage).queue(f"?view={view}").rows]


def counts(stage: Stage) -> dict[str, int | None]:
    views = reader(stage).get("queue").context["shell"].views
    return {one.label: one.count for one in views}


def put_aside(stage: Stage, request: Request, length: str = "1h") -> int:
    said = {"act": "snooze", "length": length}
    response = reader(stage).post(f"requests/{request.id}/snooze", said)
    status: int = response.status_code
    return status


def test_it_leaves_ones_own_lists_and_nobody_elses(stage: Stage) -> None:
    request, other, carol = stage.ask(), stage.ask(), stage.reviewer()
    assert put_aside(stage, request) == 303
    assert shown(stage) == shown(stage, "all") == [str(other.id)]
    assert shown(stage, "snoozed") == [str(request.id)]
    found = counts(stage)
    assert (found["Needs my key"], found["All open"], found["Put aside by me"]) == (
        1,
        1,
        1,
    )
    assert len(reader(stage, carol).queue("?view=mine").rows) == 2
    remarks = reader(stage).case(request.id).remarks
    assert remarks.snoozed_until is not None
    assert reader(stage, carol).case(request.id).remarks.snoozed_until is None
    assert stage.fresh(request).due_at == request.due_at


def its_time_is_over(stage: Stage, request: Request) -> None:
    with superuser() as connection:
        connection.execute(
            "UPDATE approvals_snooze SET until = now() WHERE request_id = %s",
            [request.id],
        )


def it_is_brought_back(stage: Stage, request: Request) -> None:
    reader(stage).post(f"requests/{request.id}/snooze", {"act": "wake"})


def somebody_answers(stage: Stage, request: Request) -> None:
    stage.answer(request, by=stage.reviewer("Dora"))


def somebody_edits(stage: Stage, request: Request) -> None:
    edited = {**ARGUMENTS, "amount": "1.00"}
    by = stage.reviewer("Dora")
    stage.answer(request, by=by, verdict=V.EDIT, arguments=edited, reason="Less.")


@pytest.mark.parametrize(
    "change", [its_time_is_over, it_is_brought_back, somebody_answers, somebody_edits]
)
def test_it_is_back_when(
    stage: Stage, change: Callable[[Stage, Request], None]
) -> None:
    stage.reviewer("Carol")
    stage.policy(rules=[{"approvals": 2}])
    request = stage.ask()
    put_aside(stage, request)
    assert shown(stage) == []
    change(stage, request)
    assert shown(stage) == [str(request.id)]
    assert shown(stage, "snoozed") == []


def test_it_never_comes_back_too_late(stage: Stage) -> None:
    request = stage.ask(decide_within=7_200)
    offered = reader(stage).case(request.id).remarks.lengths
    assert [name for name, _ in offered] == ["1h"]
    assert put_aside(stage, request, "4h") == 422
    assert put_aside(stage, request, "9y") == 404
    for length in (timedelta(seconds=1), timedelta(days=31)):
        with refused("snooze_invalid"):
            snooze(stage.bob.person, request_id=request.id, length=length)
    stage.answer(request)
    with refused("already_decided"):
        snooze(stage.bob.person, request_id=request.id, length=timedelta(hours=1))
