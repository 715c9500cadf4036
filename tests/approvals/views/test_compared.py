"""Beside a request: what differs from what its agent was last allowed to do."""

from approvals.models import Decision
from approvals.presentation.case import Compared
from approvals.services.queues import create_queue
from tests.approvals.stage import ARGUMENTS, Stage
from tests.approvals.superuser import superuser
from tests.approvals.views.browsing import reader

V = Decision.Verdict


def compared(stage: Stage, **asked: object) -> Compared | None:
    return reader(stage).case(stage.ask(**asked).id).compared


def test_the_last_approved_one_is_told_with_each_value_that_differs(
    stage: Stage,
) -> None:
    assert compared(stage) is None
    first, last = stage.ask(), stage.ask(target="bank")
    stage.answer(first)
    stage.answer(last)
    rejected = stage.ask(arguments={**ARGUMENTS, "amount": "9.00"})
    stage.answer(rejected, verdict=V.REJECT, reason="No.")
    found = compared(stage, arguments={**ARGUMENTS, "amount": "2.00"}, target="bank")
    assert found
    assert found.href.endswith(f"/queue/{last.id}")
    assert [(row.pointer, row.before, row.after) for row in found.rows] == [
        ("/arguments/amount", '"1240.00"', '"2.00"')
    ]
    same = compared(stage, target="bank")
    assert same
    assert (same.rows, same.more) == ((), 0)


def test_what_the_reader_may_not_see_is_no_measure(stage: Stage) -> None:
    by = stage.house.alice.id
    create_queue(tenant_id=stage.tenant_id, by=by, slug="other", name="Other")
    stage.policy("elsewhere", selector="arguments.amount == '77.00'", queue="other")
    secret = stage.ask(arguments={**ARGUMENTS, "amount": "77.00"})
    move_into_approved(secret.id)
    assert compared(stage) is None
    alice = reader(stage, stage.house.alice)  # she sees every queue
    assert alice.case(stage.ask().id).compared


def move_into_approved(request: object) -> None:
    with superuser() as connection:
        connection.execute(
            "UPDATE approvals_request SET state = 'consumed', due_at = NULL"
            " WHERE id = %s",
            [request],
        )


def test_what_was_altered_in_the_database_is_no_measure(stage: Stage) -> None:
    last = stage.ask()
    stage.answer(last)
    with superuser() as connection:
        connection.execute(
            "UPDATE approvals_revision SET envelope = convert_to(replace("
            "convert_from(envelope, 'UTF8'), '1240.00', '9.00'), 'UTF8')"
            " WHERE request_id = %s",
            [last.id],
        )
    assert compared(stage) is None


def test_many_differences_are_counted_and_not_all_listed(stage: Stage) -> None:
    stage.answer(stage.ask())
    found = compared(stage, arguments={**ARGUMENTS, "lines": list(range(40))})
    assert found
    assert len(found.rows) + found.more == 1  # a value that is new is one difference
    stage.answer(stage.ask(arguments={**ARGUMENTS, "lines": list(range(40))}))
    found = compared(stage, arguments={**ARGUMENTS, "lines": list(range(1, 41))})
    assert found
    assert (len(found.rows), found.more) == (12, 28)
