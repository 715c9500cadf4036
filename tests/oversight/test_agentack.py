"""A run as a trace for agentack, graded by the package as it is published."""

import json
import subprocess
import sys
from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from agentack.engine import evaluate_events
from agentack.parser import read_jsonl
from asgiref.sync import async_to_sync
from django.db import connection
from django.test import AsyncClient
from django.test.utils import CaptureQueriesContext

from approvals.models import Decision, Request
from approvals.pages.viewer import Viewer
from approvals.services.redeem import redeem
from approvals.services.report import report_effect
from approvals.services.revoke import revoke
from checkpoints.models import Attempt, Effect
from kernel.ids import new_id
from kernel.scope import tenant_transaction
from oversight.pages import agentack
from oversight.pages.agentack import write_agentack_trace
from sessions.models import Run
from sessions.services.runs import complete_run, fail_run
from tenants.access import member_in
from tests.approvals.stage import ARGUMENTS, Stage, fresh_stage
from tests.approvals.test_resume import work_all
from tests.approvals.views.browsing import reader
from tests.audit.conftest import superuser as superuser
from tests.oversight.test_runs import elsewhere

V = Decision.Verdict


@pytest.fixture
def stage() -> Stage:
    return fresh_stage()


def done(stage: Stage, run: Run) -> Request:
    """Asked, agreed to, carried out and reported."""
    who = stage.house.robot.principal
    request = stage.ask(stage.fresh(run))
    stage.answer(request)
    work_all(stage, request)
    fence = stage.fresh(run).fence
    started = redeem(who, request_id=request.id, fence=fence)
    report_effect(
        who, effect_id=started.effect.id, attempt=1, fence=fence, outcome="confirmed"
    )
    return request


def finish(stage: Stage, run: Run) -> None:
    who, fence = stage.house.robot.principal, stage.fresh(run).fence
    if stage.fresh(run).state == Run.State.RUNNING:
        complete_run(who=who, run_id=run.id, fence=fence)
    else:
        fail_run(who=who, run_id=run.id, fence=fence, reason="Not needed.")


def taken(stage: Stage, run_id: UUID) -> bytes:
    """The file as Bob's browser gets it."""

    async def take() -> bytes:
        client = AsyncClient()
        await client.aforce_login(stage.bob.user)
        path = f"/t/{stage.house.tenant.slug}/runs/{run_id}/agentack.jsonl"
        answer: Any = await client.get(path)
        assert answer.status_code == 200
        return b"".join([chunk async for chunk in answer.streaming_content])

    return async_to_sync(take)()


def trace(stage: Stage, run_id: UUID, tmp_path: Path) -> Path:
    file = tmp_path / "trace.jsonl"
    file.write_bytes(taken(stage, run_id))
    return file


def graded(stage: Stage, run_id: UUID, tmp_path: Path) -> tuple[str, set[str]]:
    """What agentack says, and the rules that are broken."""
    report = evaluate_events(read_jsonl(trace(stage, run_id, tmp_path)))
    return report.status, {one.rule_id for one in report.findings}


def test_a_clean_run_passes(stage: Stage, tmp_path: Path) -> None:
    """Carried out, edited first, refused and taken back: all of it in one run."""
    run = stage.run()
    done(stage, run)
    refused = stage.ask(stage.fresh(run))
    stage.answer(refused, verdict=V.REJECT, reason="No.")
    work_all(stage, refused)
    edited = stage.ask(stage.fresh(run))
    less = {**ARGUMENTS, "amount": "2.00"}
    stage.answer(edited, verdict=V.EDIT, arguments=less, reason="Less.")
    stage.answer(edited, stage.reviewer())
    revoke(stage.bob.person, request_id=edited.id, reason="Not today.")
    work_all(stage, edited)
    finish(stage, run)
    file = trace(stage, run.id, tmp_path)
    check = [sys.executable, "-m", "agentack", "check", str(file)]
    said = subprocess.run(check, capture_output=True, text=True)
    assert said.returncode == 0, said.stdout
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    kinds = [one["type"] for one in lines]
    assert kinds.count("approval_requested") == 4
    assert (kinds.count("action_executed"), kinds.count("action_blocked")) == (1, 3)
    assert kinds[-1] == "session_end"


def test_what_is_not_over_is_incomplete(stage: Stage, tmp_path: Path) -> None:
    request = stage.ask()
    assert graded(stage, request.run_id, tmp_path) == ("INCOMPLETE", {"ACK009"})


def test_arguments_edited_behind_the_approval_fail(
    stage: Stage, tmp_path: Path, superuser: Any
) -> None:
    run = stage.run()
    done(stage, run)
    finish(stage, run)
    count = superuser.execute(
        "UPDATE checkpoints_effect SET action = convert_to(replace("
        "convert_from(action, 'UTF8'), '1240.00', '9240.00'), 'UTF8') WHERE run_id = %s",
        run.id,
    )
    assert count == 1
    assert graded(stage, run.id, tmp_path) == ("FAIL", {"ACK003"})


def test_a_replay_fails(stage: Stage, tmp_path: Path) -> None:
    """Done once more under an approval that was used up."""
    run = stage.run()
    request = done(stage, run)
    finish(stage, run)
    with tenant_transaction(stage.tenant_id):
        first = Attempt.objects.get(effect__request=request.id)
        Attempt.objects.create(
            tenant_id=stage.tenant_id,
            effect_id=first.effect_id,
            number=2,
            fence=first.fence,
            send_before=first.send_before,
        )
    assert graded(stage, run.id, tmp_path) == ("FAIL", {"ACK004"})


def test_another_try_after_an_unknown_one_is_no_replay(
    stage: Stage, tmp_path: Path
) -> None:
    run = stage.run()
    request = done(stage, run)
    finish(stage, run)
    with tenant_transaction(stage.tenant_id):
        first = Attempt.objects.get(effect__request=request.id)
        Attempt.objects.filter(id=first.id).update(outcome="unknown")
        Attempt.objects.create(
            tenant_id=stage.tenant_id,
            effect_id=first.effect_id,
            number=2,
            fence=first.fence,
            send_before=first.send_before,
        )
    assert graded(stage, run.id, tmp_path)[0] == "PASS"


def test_a_refusal_that_was_gone_around_fails(stage: Stage, tmp_path: Path) -> None:
    """The refused intent was carried out all the same, under no approval of its own."""
    run = stage.run()
    request = stage.ask(run)
    stage.answer(request, verdict=V.REJECT, reason="No.")
    work_all(stage, request)
    finish(stage, run)
    _carried_out_anyway(stage, request)
    assert graded(stage, run.id, tmp_path) == ("FAIL", {"ACK001", "ACK007"})


def viewer(stage: Stage) -> Viewer:
    membership = member_in(stage.bob.user, stage.house.tenant.slug)
    return Viewer(membership, stage.bob.person)


def test_a_longer_run_takes_no_more_statements(stage: Stage) -> None:
    def cost(run: Run) -> int:
        with CaptureQueriesContext(connection) as captured:
            write_agentack_trace(viewer(stage), run.id, BytesIO())
        return len(captured)

    short, long = stage.run(), stage.run()
    done(stage, short)
    for _ in range(3):
        done(stage, long)
    assert cost(long) == cost(short)


def test_what_is_read_a_little_at_a_time_is_told_in_order(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where several were asked before the first of them was answered."""
    run = stage.run()
    done(stage, run)
    for request in stage.ask_all([{}, {}, {}], stage.fresh(run)):
        stage.answer(request, verdict=V.REJECT, reason="No.")
    whole = taken(stage, run.id)
    monkeypatch.setattr(agentack, "BATCH", 1)
    assert taken(stage, run.id) == whole
    times = [json.loads(line)["timestamp"] for line in whole.splitlines()]
    assert times == sorted(times)


def test_requests_on_unseen_queues_are_left_out(stage: Stage, tmp_path: Path) -> None:
    hidden = elsewhere(stage)
    path = f"runs/{hidden.run_id}/agentack.jsonl"
    assert reader(stage).get(path).status_code == 404
    assert reader(stage, stage.house.alice).get(path).status_code == 200


def _carried_out_anyway(stage: Stage, request: Request) -> None:
    with tenant_transaction(stage.tenant_id):
        Effect.objects.create(
            tenant_id=stage.tenant_id,
            run_id=request.run_id,
            tool_id=request.tool_id,
            request=request.id,
            grant=new_id(),
            key=bytes(32),
            action=json.dumps({"tool": "pay", "arguments": ARGUMENTS}).encode(),
            state=Effect.State.CONFIRMED,
        )
