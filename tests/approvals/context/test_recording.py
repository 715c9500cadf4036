"""Recording a context: as it was at one moment, and once."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from approvals.context import Wanted
from approvals.services.contexts import record_context
from audit.models import Entry
from kernel.scope import tenant_transaction
from tests.approvals.context.talking import Desk, said
from tests.concurrency import impatient, locked_by_another, together, waiting
from tests.examples.waiting import wait_until
from tests.refusals import refused


@pytest.mark.parametrize("what", ["session", "run"])
def test_nothing_of_it_is_just_being_changed(desk: Desk, what: str) -> None:
    id = desk.run.session_id if what == "session" else desk.run.id
    at_work = locked_by_another(f"agent_sessions_{what}", f"id = '{id}'")
    with impatient(), at_work, refused("busy", status=503):
        record_context(desk.robot.principal, run_id=desk.run.id, wanted=Wanted())


def test_twins_record_one_context_once(desk: Desk) -> None:
    desk.say(said("user", "Pay."))
    chain = f"tenant_id = '{desk.stage.tenant_id}'"
    with ThreadPoolExecutor(1) as pool:
        with locked_by_another("audit_head", chain):
            twins = pool.submit(together, desk.record, desk.record)
            wait_until(lambda: waiting() >= 2 or twins.done())
        first, second = twins.result()
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.json()["digest"] == second.json()["digest"]
    with tenant_transaction(desk.stage.tenant_id):
        kept = Entry.objects.filter(kind="context.recorded", subject_id=desk.run.id)
        assert kept.count() == 1
