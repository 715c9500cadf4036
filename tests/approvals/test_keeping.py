"""A claim is short, a living worker keeps it, and a dead worker's is taken over."""

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from types import SimpleNamespace

import pytest

from approvals.models import Request, ResumeJob
from approvals.resume import act as acting
from approvals.resume import keeping, recover
from approvals.resume.job import Claimed, claim, finish
from approvals.resume.keeping import kept
from approvals.resume.work import work
from checkpoints.models import Attempt, Effect
from checkpoints.tools import ToolStatus
from kernel.scope import tenant_transaction
from kernel.update import LostRace
from sessions.models import Run
from sessions.runs import lock_run
from tests.approvals.stage import Stage, fresh_stage
from tests.approvals.superuser import superuser
from tests.approvals.test_resume import make_due
from tests.approvals.tool_server import ToolServer
from tests.examples.waiting import wait_until


@pytest.fixture
def _short(settings: SimpleNamespace) -> None:
    settings.CLAIM_SECONDS = 1


def approved(server: ToolServer, **terms: object) -> tuple[Stage, Request]:
    stage = fresh_stage("managed", **server.definition(**terms))
    request = stage.ask()
    stage.answer(request)
    return stage, request


def job_of(stage: Stage, request: Request) -> ResumeJob:
    with tenant_transaction(stage.tenant_id):
        return ResumeJob.objects.get(request=request)


def due_at(stage: Stage, request: Request) -> datetime:
    due = job_of(stage, request).due_at
    assert due is not None
    return due


def take(job: ResumeJob) -> Claimed:
    taken = claim(job.id)
    assert taken is not None
    return taken


@pytest.mark.usefixtures("_short")
def test_a_living_worker_keeps_its_job_longer_than_a_claim_lasts(
    tool_server: ToolServer,
) -> None:
    stage, request = approved(tool_server)
    job = job_of(stage, request)
    tool_server.current.answering.clear()
    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(work, job.id)
        wait_until(tool_server.calls)
        first = due_at(stage, request)
        wait_until(lambda: (due_at(stage, request) - first).total_seconds() > 1)
        assert claim(job.id) is None
        tool_server.current.answering.set()
        assert working.result() == "confirmed"
    assert tool_server.calls() == 1


@pytest.mark.usefixtures("_short")
def test_a_job_whose_worker_says_nothing_is_taken_over(
    tool_server: ToolServer,
) -> None:
    stage, request = approved(tool_server)
    job = job_of(stage, request)
    lost = take(job)
    assert claim(job.id) is None
    wait_until(lambda: work(job.id) == "confirmed")
    with pytest.raises(LostRace), tenant_transaction(stage.tenant_id):
        finish(lost, lock_run(lost.run_id), "late")


@pytest.mark.usefixtures("_short")
def test_nobody_keeps_what_has_been_taken_over(tool_server: ToolServer) -> None:
    stage, request = approved(tool_server)
    job = job_of(stage, request)
    lost = take(job)
    wait_until(lambda: claim(job.id))
    assert not keeping._extend(lost)


def test_whoever_hangs_does_not_keep_it_for_ever(
    tool_server: ToolServer, settings: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.CLAIM_SECONDS = 1
    monkeypatch.setattr(keeping, "LONGEST", 0.5)
    stage, request = approved(tool_server)
    job = job_of(stage, request)
    with kept(take(job)):
        wait_until(lambda: claim(job.id))


def test_the_lease_of_a_lost_worker_ends_with_its_job(tool_server: ToolServer) -> None:
    """Whoever carries on gives the run back to its agent, at once and not in a minute."""
    stage, request = approved(tool_server, resend=True)
    job = job_of(stage, request)
    tool_server.current.behaviour = "commit_then_drop"
    assert work(job.id) == "unknown"
    with tenant_transaction(stage.tenant_id):
        assert Run.objects.get(id=request.run_id).lease_holder is not None
        ResumeJob.objects.filter(id=job.id).update(due_at=job.created_at)
    assert work(job.id) == "confirmed"
    with tenant_transaction(stage.tenant_id):
        run = Run.objects.get(id=request.run_id)
        assert (run.state, run.lease_holder) == (Run.State.RUNNING, None)


def test_a_tool_that_honours_keys_is_called_again_at_once(
    tool_server: ToolServer,
) -> None:
    """Nobody waits until it is sure that a lost worker's call cannot arrive any more."""
    stage, request = approved(tool_server, resend=True)
    job = job_of(stage, request)
    lost = take(job)
    step = acting.perform(lost.tenant_id, lambda verb: acting._verify(verb, lost))
    assert not isinstance(step, str)
    with tenant_transaction(stage.tenant_id):
        ResumeJob.objects.filter(id=job.id).update(due_at=job.created_at)
    assert work(job.id) == "confirmed"
    with tenant_transaction(stage.tenant_id):
        effect = Effect.objects.get(request=request.id)
        assert (effect.state, effect.attempt) == ("confirmed", 2)
        one, two = Attempt.objects.filter(effect=effect).order_by("number")
        assert two.fence > one.fence
    assert tool_server.calls() == 1


def test_an_answer_from_before_it_had_settled_proves_no_absence(
    tool_server: ToolServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tool was asked while the call could still arrive, and answered afterwards."""
    stage, request = approved(tool_server, settle=0)
    job = job_of(stage, request)
    tool_server.current.behaviour = "error"
    assert work(job.id) == "unknown"
    make_due(stage, request)
    long_ago = ToolStatus(state="absent", asked=float("-1e6"))
    monkeypatch.setattr(recover, "ask_status", lambda tool, key: long_ago)
    assert work(job.id) == "effects.settling"


def test_what_was_not_sent_in_time_is_not_sent_again(tool_server: ToolServer) -> None:
    """The approval was used in time, and then its time ended before it was sent."""
    stage, request = approved(tool_server, settle=0)
    job = job_of(stage, request)
    tool_server.current.behaviour = "error"
    assert work(job.id) == "unknown"
    make_due(stage, request)
    with superuser() as us:
        us.execute(
            "UPDATE approvals_grant SET not_before = now() - interval '2 h',"
            " expires_at = now() - interval '1 h' WHERE request_id = %s",
            [request.id],
        )
    tool_server.current.behaviour = "confirm"
    assert work(job.id) == "absent"
    assert tool_server.calls() == 1
