"""A backup is restored over newer effects: the anchor is ahead of the database.

Nothing acts until an operator ends the recovery; then unused approvals are void, and a
person looks at every run that had not ended.
"""

import json
from pathlib import Path
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError

from approvals.models import Grant, Request, ResumeJob
from approvals.reading import next_step, snapshot
from approvals.resume.anchoring import anchor_or_stop
from approvals.resume.work import work
from approvals.services.attention import abandon_run, release_run
from approvals.services.recovery import begin_recovery, end_recovery
from approvals.services.redeem import redeem
from approvals.services.resolve import resolve_effect
from audit.anchors import anchor, anchors_file, is_set_back, read_anchors
from audit.models import Entry
from audit.queries import stored_head
from audit.verify import verify_tenant
from checkpoints.models import Effect
from kernel.scope import tenant_transaction
from sessions.models import Run
from sessions.services.sessions import open_session
from tenants.checks import Operator
from tenants.models import Role
from tests.approvals.stage import Stage, fresh_stage
from tests.approvals.superuser import superuser
from tests.approvals.tool_server import ToolServer
from tests.factories import fresh_member
from tests.refusals import refused

CODE = "authority.recovery"


def seq_of(stage: Stage) -> int:
    with tenant_transaction(stage.tenant_id):
        head = stored_head(stage.tenant_id)
        assert head is not None
        return head.seq


def set_back(stage: Stage) -> None:
    """Anchor what happens next, and take it out of the database again."""
    before = seq_of(stage)
    open_session(who=stage.house.robot.principal, subject="somebody")
    forget(stage, before)


def forget(stage: Stage, before: int) -> None:
    """Anchor what was logged, and take what came after `before` out of the log."""
    anchor()
    with superuser() as us, us.transaction():
        for table in ("audit_entry", "audit_head"):
            us.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
        us.execute(
            "DELETE FROM audit_entry WHERE tenant_id = %s AND seq > %s",
            [stage.tenant_id, before],
        )
        us.execute(
            "UPDATE audit_head h SET seq = e.seq, hash = e.hash FROM audit_entry e"
            " WHERE e.tenant_id = h.tenant_id AND h.tenant_id = %s AND e.seq = %s",
            [stage.tenant_id, before],
        )
        for table, names in {
            "audit_entry": ("only_grows", "no_truncate"),
            "audit_head": ("only_forwards", "no_delete", "no_truncate"),
        }.items():
            for name in names:
                us.execute(f"ALTER TABLE {table} ENABLE ALWAYS TRIGGER {name}")


def work_on(stage: Stage, request: Request) -> str:
    """What the job that is open comes to, now."""
    with tenant_transaction(stage.tenant_id):
        job = ResumeJob.objects.get(request=request, due_at__isnull=False)
        ResumeJob.objects.filter(id=job.id).update(due_at=job.created_at)
    return work(job.id)


def recovering(stage: Stage) -> bool:
    return stage.fresh(stage.house.tenant).recovering_since is not None


def end(stage: Stage) -> dict[str, int]:
    ended = end_recovery(
        tenant_id=stage.tenant_id, by=Operator.CONSOLE, reason="Looked at it."
    )
    return {"runs": ended.runs, "grants": ended.grants, "effects": ended.effects}


def managed(server: ToolServer) -> tuple[Stage, Run, Request]:
    stage = fresh_stage("managed", **server.definition())
    run = stage.run()
    request = stage.ask(run)
    stage.answer(request)
    return stage, run, request


def test_a_database_that_was_not_set_back_acts(tool_server: ToolServer) -> None:
    stage, _, request = managed(tool_server)
    anchor_or_stop()
    assert not recovering(stage)
    assert work_on(stage, request) == "confirmed"


def test_a_worker_waits_before_anyone_has_noticed(tool_server: ToolServer) -> None:
    stage, run, request = managed(tool_server)
    set_back(stage)
    assert work_on(stage, request) == CODE
    assert tool_server.calls() == 0
    assert stage.fresh(run).state == Run.State.PAUSED
    with tenant_transaction(stage.tenant_id):
        assert Grant.objects.get().state == Grant.State.LIVE
        assert ResumeJob.objects.get().state == ResumeJob.State.RETRY


def test_it_still_waits_when_the_chain_has_grown_past_the_anchor(
    tool_server: ToolServer,
) -> None:
    stage, _, request = managed(tool_server)
    set_back(stage)
    for _ in range(3):
        open_session(who=stage.house.robot.principal, subject="somebody else")
    anchor()
    assert work_on(stage, request) == CODE


def test_it_is_noticed_where_the_file_is_and_holds_everywhere(
    tool_server: ToolServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another machine has no anchors, but the same database."""
    stage, _, request = managed(tool_server)
    set_back(stage)
    anchor_or_stop()
    monkeypatch.setattr("approvals.checks.recovery.is_set_back", lambda _: False)
    assert recovering(stage)
    assert work_on(stage, request) == CODE
    with tenant_transaction(stage.tenant_id):
        assert Entry.objects.filter(kind="recovery.began").count() == 1
    anchor_or_stop()
    with tenant_transaction(stage.tenant_id):
        assert Entry.objects.filter(kind="recovery.began").count() == 1


def test_an_agent_cannot_redeem_nor_be_handed_the_same_again() -> None:
    stage = fresh_stage()
    who = stage.house.robot.principal
    run, other = stage.run(), stage.run()
    unused, used = stage.ask(run), stage.ask(other)
    for request in (unused, used):
        stage.answer(request)
    redeem(who, request_id=used.id, fence=other.fence)
    set_back(stage)
    with refused(CODE, status=409):
        redeem(who, request_id=unused.id, fence=run.fence)
    with refused(CODE, status=409):
        redeem(who, request_id=used.id, fence=other.fence)


def test_an_unknown_effect_is_not_sent_again_meanwhile(tool_server: ToolServer) -> None:
    stage = fresh_stage("managed", **tool_server.definition(resend=True))
    request = stage.ask()
    stage.answer(request)
    tool_server.current.behaviour = "drop"
    assert work_on(stage, request) == "unknown"
    with superuser() as us:
        us.execute(
            "UPDATE checkpoints_attempt SET send_before = now() - interval '1 day'"
            " WHERE tenant_id = %s",
            [stage.tenant_id],
        )
    set_back(stage)
    assert work_on(stage, request) == CODE
    assert tool_server.calls() == 1


def test_the_end_of_a_recovery(tool_server: ToolServer) -> None:
    stage, run, request = managed(tool_server)
    idle, asking = stage.run(), stage.run()
    question = stage.ask(asking)
    set_back(stage)
    anchor_or_stop()
    assert end(stage) == {"runs": 3, "grants": 1, "effects": 0}
    for each in (run, idle, asking):
        assert stage.fresh(each).state == Run.State.NEEDS_ATTENTION
    assert stage.fresh(request).state == Request.State.REVOKED
    assert stage.fresh(question).state == Request.State.PENDING
    with tenant_transaction(stage.tenant_id):
        assert Grant.objects.get().state == Grant.State.REVOKED
        ended = Entry.objects.get(kind="recovery.ended")
        assert ended.actor_type == "operator"
        assert ended.data["reason"] == "Looked at it."
        assert not is_set_back(stage.tenant_id)
    assert not recovering(stage)
    assert tool_server.calls() == 0


def test_what_is_asked_afterwards_is_carried_out(tool_server: ToolServer) -> None:
    stage, _, _ = managed(tool_server)
    set_back(stage)
    end(stage)
    request = stage.ask()
    stage.answer(request)
    anchor_or_stop()
    assert work_on(stage, request) == "confirmed"


def test_the_audit_is_intact_again_and_says_where_the_pasts_part(
    tool_server: ToolServer,
) -> None:
    stage, _, _ = managed(tool_server)
    anchor()
    shared = seq_of(stage)
    set_back(stage)
    lost = read_anchors(anchors_file()).of(stage.tenant_id)
    assert verify_tenant(stage.tenant_id, anchors=lost).flaw is not None
    end(stage)
    anchors = read_anchors(anchors_file())
    of_tenant = anchors.of(stage.tenant_id)
    assert anchors.flaw is None
    assert of_tenant[-1].since == shared
    assert [each.seq for each in of_tenant[:-1]] == [shared]
    assert verify_tenant(stage.tenant_id, anchors=of_tenant).intact


def test_an_export_is_checked_offline_with_the_same_anchors(
    tool_server: ToolServer, tmp_path: Path
) -> None:
    from audit.export import export_chain
    from audit.offline.verify_export import check

    stage, _, _ = managed(tool_server)
    set_back(stage)
    end(stage)
    export = tmp_path / "export.ndjson"
    with export.open("wb") as out:
        export_chain(stage.tenant_id, out)
    assert str(stage.tenant_id) in check(export, {}, server_anchors=anchors_file())


def test_what_was_under_way_needs_a_person_and_is_handed_out_no_more() -> None:
    stage = fresh_stage()
    run, who = stage.run(), stage.house.robot.principal
    request = stage.ask(run)
    stage.answer(request)
    started = redeem(who, request_id=request.id, fence=run.fence)
    set_back(stage)
    assert end(stage)["effects"] == 1
    assert stage.fresh(started.effect).state == Effect.State.NEEDS_ATTENTION
    with refused("not_approved"):
        redeem(who, request_id=request.id, fence=run.fence)
    with refused("effects_open"):
        release_run(stage.bob.person, run_id=run.id, reason="Looked.")
    resolve_effect(
        stage.bob.person,
        effect_id=started.effect.id,
        outcome="confirmed",
        evidence="Seen in the bank.",
    )
    assert stage.fresh(run).state == Run.State.RUNNING


def test_a_released_run_waits_for_its_question_as_before(
    tool_server: ToolServer,
) -> None:
    stage = fresh_stage("managed", **tool_server.definition())
    run = stage.run()
    question = stage.ask(run)
    set_back(stage)
    end(stage)
    stage.answer(question)
    assert work_on(stage, question) == "position.needs_attention"
    release_run(stage.bob.person, run_id=run.id, reason="It had not been asked twice.")
    assert stage.fresh(run).state == Run.State.PAUSED
    assert work_on(stage, question) == "confirmed"
    assert stage.fresh(run).state == Run.State.RUNNING


def test_a_released_run_learns_what_became_of_its_question(
    tool_server: ToolServer,
) -> None:
    stage, run, request = managed(tool_server)
    set_back(stage)
    end(stage)
    with tenant_transaction(stage.tenant_id):  # it was tried until it was given up
        ResumeJob.objects.exclude(due_at=None).update(state="dead", due_at=None)
    release_run(stage.house.alice.person, run_id=run.id, reason="Ask again.")
    assert work_on(stage, request) == "woken"
    assert stage.fresh(run).state == Run.State.RUNNING
    with tenant_transaction(stage.tenant_id):
        rows = Request.objects.select_related("tool", "queue")
        assert next_step(snapshot(rows.get(id=request.id))) == "stop"


def test_a_run_without_a_question_runs_again() -> None:
    stage = fresh_stage()
    run = stage.run()
    set_back(stage)
    end(stage)
    release_run(stage.house.alice.person, run_id=run.id, reason="Nothing was lost.")
    assert stage.fresh(run).state == Run.State.RUNNING


def test_an_abandoned_run_takes_its_question_back() -> None:
    stage = fresh_stage()
    run = stage.run()
    question = stage.ask(run)
    set_back(stage)
    end(stage)
    abandon_run(stage.house.alice.person, run_id=run.id, reason="It was done by hand.")
    assert stage.fresh(run).state == Run.State.CANCELLED
    assert stage.fresh(question).state == Request.State.CANCELLED


def test_who_may_say_that_a_run_goes_on() -> None:
    stage = fresh_stage()
    run = stage.run()
    stage.ask(run)
    set_back(stage)
    end(stage)
    auditor = fresh_member(stage.house.alice, "Audra", role=Role.AUDITOR)
    stranger = fresh_member(stage.house.alice, "Dave", role=Role.DEVELOPER)
    said = {"run_id": run.id, "reason": "Looked."}
    for verb in (release_run, abandon_run):
        with refused("not_permitted", status=403):
            verb(auditor.person, **said)
        for person in (stranger.person, stage.house.charlie.person):
            with refused("not_found", status=404):
                verb(person, **said)
        with refused("reason_needed"):
            verb(stage.bob.person, run_id=run.id, reason=" ")
    release_run(stage.bob.person, **said)
    with refused("wrong_state"):
        release_run(stage.bob.person, **said)


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    stage = fresh_stage()
    stage.run()
    slug = stage.house.tenant.slug
    with pytest.raises(CommandError, match="not_recovering"):
        call_command("end_recovery", slug, reason="Nothing is wrong.")
    set_back(stage)
    call_command("end_recovery", slug, "--json", reason="Looked at it.")
    ended = json.loads(capsys.readouterr().out)
    assert ended == {"runs": 1, "grants": 0, "effects": 0, "standing": 0}
    assert not recovering(stage)


def test_a_tenant_that_cannot_be_stopped_holds_up_no_other(
    tool_server: ToolServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from approvals.resume import anchoring

    first, stage = fresh_stage(), managed(tool_server)[0]
    set_back(first)
    set_back(stage)

    def begin(tenant_id: UUID) -> bool:
        if tenant_id == first.tenant_id:
            raise OperationalError("its chain is gone")
        return begin_recovery(tenant_id)

    monkeypatch.setattr(anchoring, "begin_recovery", begin)
    anchor_or_stop()
    assert (recovering(first), recovering(stage)) == (False, True)
