"""The protocol's own client, unmodified, against a running web process."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from agentapprovalprotocol import Call, Client, Gate
from django.db import connection
from django.db.models import F

from approvals.models import AAPRequest, Decision, Request
from checkpoints.models import Effect
from kernel.scope import tenant_transaction
from sessions.models import Run
from tests.approvals.stage import ARGUMENTS, Stage, fresh_stage
from tests.examples.waiting import wait_until
from tests.factories import unique
from tests.installation import Installation, running_installation

V = Decision.Verdict

# One web process for all of them.
pytestmark = pytest.mark.xdist_group("aap-client")


@pytest.fixture(scope="module")
def web(django_db_setup: None) -> Iterator[Installation]:
    with running_installation("web") as running:
        yield running


@pytest.fixture(scope="module")
def stage() -> Stage:
    return fresh_stage()


@pytest.fixture
def client(web: Installation, stage: Stage) -> Iterator[Client]:
    one = Client(f"{web.url}/api/aap", stage.house.robot.text, retry_budget=20)
    yield one
    one.close()


def call(key: str = "", **said: Any) -> Call:
    given: dict[str, Any] = {"tool": "pay", "arguments": ARGUMENTS, **said}
    return Call(key=key or unique(), **given)


def asked(stage: Stage, many: int = 1) -> list[Request]:
    """What waits for people now."""
    with tenant_transaction(stage.tenant_id):
        return list(Request.objects.filter(state="pending").order_by("-created_at"))


def checked(gate: Gate, one: Call, act: Any) -> Any:
    """The gate's verdict on a call, while `act` is done to its request."""
    with ThreadPoolExecutor(1) as pool:
        known = {request.id for request in asked_of(gate)}
        verdict = pool.submit(gate.check, one)
        wait_until(lambda: {r.id for r in asked_of(gate)} - known or verdict.done())
        new = [r for r in asked_of(gate) if r.id not in known]
        for request in new:
            act(request)
        return verdict.result(timeout=60)


STAGES: dict[int, Stage] = {}


def gate_of(client: Client, stage: Stage, **options: Any) -> Gate:
    gate = Gate(client, **options)
    STAGES[id(gate)] = stage
    return gate


def asked_of(gate: Gate) -> list[Request]:
    return asked(STAGES[id(gate)])


def of(stage: Stage, verdict: Any) -> tuple[AAPRequest, Run, Effect | None]:
    with tenant_transaction(stage.tenant_id):
        known = AAPRequest.objects.select_related("request__run").get(
            request_id=UUID(verdict.request_id)
        )
        effect = Effect.objects.filter(request=known.request_id).first()
        return known, known.request.run, effect


def test_approved_consumed_reported(client: Client, stage: Stage) -> None:
    gate = gate_of(client, stage)
    one = call(server="ledger", reasoning="It is due.", context={"n": 1.5, "s": "\0"})
    verdict = checked(gate, one, stage.answer)
    assert verdict, verdict
    known, _, effect = of(stage, verdict)
    assert effect is not None
    assert effect.state == "started"
    assert verdict.report("succeeded", "done")
    assert verdict.report("succeeded", "done")
    assert not verdict.report("failed")
    known, run, effect = of(stage, verdict)
    assert (known.outcome, run.state) == ("succeeded", "completed")
    assert effect is not None
    assert effect.state == "confirmed"
    told = client.get(verdict.request_id)
    assert told.consumption is not None
    assert told.consumption.outcome is not None
    assert told.consumption.outcome.note == "done"


def test_denied_with_the_reviewers_words(client: Client, stage: Stage) -> None:
    def reject(request: Request) -> None:
        stage.answer(request, verdict=V.REJECT, reason="Ask for 900.00 instead.")

    verdict = checked(gate_of(client, stage), call(), reject)
    assert (verdict.status, "Ask for 900.00" in verdict.reason) == ("denied", True)
    assert of(stage, verdict)[2] is None


def test_of_eight_who_hold_one_approval_one_may_act(
    client: Client, stage: Stage
) -> None:
    gate, one = gate_of(client, stage, mode="async"), call()
    pending = gate.check(one)
    (request,) = [r for r in asked(stage) if str(r.id) == pending.request_id]
    stage.answer(request)
    barrier = threading.Barrier(8)

    def try_it() -> Any:
        barrier.wait(timeout=30)
        return gate.check(one)

    with ThreadPoolExecutor(8) as pool:
        verdicts = [each.result() for each in [pool.submit(try_it) for _ in range(8)]]
    assert sum(map(bool, verdicts)) == 1
    assert {v.status for v in verdicts if not v} <= {"consumed", "error"}
    with tenant_transaction(stage.tenant_id):
        assert Effect.objects.filter(request=request.id).count() == 1


def test_a_replay_is_refused_and_a_lost_answer_is_not(
    client: Client, stage: Stage
) -> None:
    gate, one = gate_of(client, stage, mode="async"), call()
    pending = gate.check(one)
    (request,) = [r for r in asked(stage) if str(r.id) == pending.request_id]
    stage.answer(request)
    key = str(uuid4())
    first = client.consume(pending.request_id, key)
    assert first == client.consume(pending.request_id, key)
    assert gate.check(one).status == "consumed"


def test_other_arguments_are_another_request(client: Client, stage: Stage) -> None:
    gate, key = gate_of(client, stage, mode="async"), unique()
    first = gate.check(call(key))
    again = gate.check(call(key))
    other = gate.check(call(key, arguments={**ARGUMENTS, "amount": "9.00"}))
    assert first.request_id == again.request_id != other.request_id


def test_nobody_decides_in_time(client: Client, stage: Stage) -> None:
    gate = gate_of(client, stage, mode="async", timeout="10m")
    pending = gate.check(call())
    with tenant_transaction(stage.tenant_id):
        Request.objects.filter(id=pending.request_id).update(
            due_at=F("due_at") - timedelta(hours=1)
        )
    from approvals.resume.sweep import _expire_request

    _expire_request(stage.tenant_id, UUID(pending.request_id))
    assert client.get(pending.request_id).status == "expired"


def test_an_approval_that_was_not_used_in_time(client: Client, stage: Stage) -> None:
    gate, one = gate_of(client, stage, mode="async"), call()
    pending = gate.check(one)
    (request,) = [r for r in asked(stage) if str(r.id) == pending.request_id]
    stage.answer(request)
    let_years_pass(request)
    verdict = gate.check(one)
    assert (bool(verdict), verdict.status) == (False, "error")
    assert of(stage, pending)[2] is None


def let_years_pass(request: Request) -> None:
    """As if the grant had been given long ago; by the superuser, past all rules."""
    from tests.approvals.superuser import superuser

    with superuser() as admin:
        admin.execute(
            "UPDATE approvals_grant SET expires_at = expires_at - interval '400 days',"
            " not_before = not_before - interval '401 days',"
            " due_at = due_at - interval '400 days' WHERE request_id = %s",
            [request.id],
        )


def test_authority_that_was_lost_is_not_consumed(client: Client) -> None:
    own = fresh_stage()
    mine = Client(client.base_url, own.house.robot.text)
    gate, one = gate_of(mine, own, mode="async"), call()
    pending = gate.check(one)
    own.answer(asked(own)[0])
    own.policy("tighter", rules=[{"approvals": 2}])
    verdict = gate.check(one)
    assert (bool(verdict), verdict.status) == (False, "error")
    assert of(own, pending)[2] is None
    assert asked(own) == []  # nobody is asked for one who has given up
    mine.close()


def test_a_waiting_client_is_woken_when_it_is_cancelled(
    client: Client, stage: Stage
) -> None:
    pending = gate_of(client, stage, mode="async").check(call())
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(client.get, pending.request_id, wait=25)
        assert client.cancel(pending.request_id).status == "cancelled"
        assert waiting.result(timeout=20).status == "cancelled"
    assert client.cancel(pending.request_id).status == "cancelled"


def test_a_credential_that_is_none(client: Client) -> None:
    stranger = Client(client.base_url, "kt_nothing", retry_budget=1)
    verdict = Gate(stranger).check(call())
    assert "refused this agent's credential" in verdict.reason
    stranger.close()


def test_another_agents_request_is_not_there(client: Client, stage: Stage) -> None:
    from agentapprovalprotocol import AAPError

    pending = gate_of(client, stage, mode="async").check(call())
    other = fresh_stage()
    theirs = Client(client.base_url, other.house.robot.text)
    for act in (
        lambda: theirs.get(pending.request_id),
        lambda: theirs.cancel(pending.request_id),
        lambda: theirs.consume(pending.request_id, "k"),
        lambda: theirs.report_outcome(pending.request_id, "failed"),
    ):
        with pytest.raises(AAPError, match="unavailable"):
            act()
    theirs.close()


def test_policy_may_allow_at_once(client: Client) -> None:
    own = fresh_stage()
    own.let_through("all")
    mine = Client(client.base_url, own.house.robot.text)
    verdict = Gate(mine).check(call())
    assert verdict, verdict
    mine.close()
    connection.close()
