"""Erasing sessions: at once unreadable, gone in steps, explained on a chain that holds."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from approvals.models import Request
from approvals.resume.purging import purge_tenant
from approvals.services.erasure import (
    erase_subject,
)
from approvals.services.redeem import redeem
from audit.verify import verify_tenant
from checkpoints.services import read_checkpoint
from kernel.scope import tenant_transaction
from sessions.models import Item, Run, Session
from sessions.services import append_items
from sessions.services.retention import lift_hold, place_hold, set_retention
from sessions.services.runs import start_run
from sessions.services.sessions import open_session
from tests.api import Api
from tests.approvals.stage import ARGUMENTS, Stage, fresh_stage
from tests.approvals.views.browsing import reader
from tests.chain import kinds_of
from tests.checkpoints.tampering import superuser_says
from tests.erasure.erasing import (
    BY,
    age,
    count,
    ended_session,
    gone,
    purge_all,
)
from tests.erasure.test_canaries import dump
from tests.factories import unique
from tests.refusals import refused


@pytest.fixture
def stage() -> Stage:
    return fresh_stage()


def test_a_persons_data_goes_everywhere_and_the_chain_holds(stage: Stage) -> None:
    word, api = f"pii{unique()}", Api.of(stage.house.robot)
    who = stage.house.robot.principal
    session = open_session(who=who, subject=f"{word}@example.test", title=word)
    run, _ = start_run(who=who, session_id=session.id, external_id=word)
    append_items(who=who, session_id=session.id, items=[f'"{word}"'])
    fact = {"value": word, "provenance": "user", "reference": word}
    body = {"facts": {"note": fact}, "reason": word}
    api.post(f"runs/{run.id}/transitions", body, fence=run.fence, If_Match='"0"')
    asked = {"arguments": {"payee": word, "amount": "1.00"}, "explanation": word}
    request = stage.ask(run, **asked)
    stage.answer(request, reason=word)
    other = ended_session(stage, subject="customer-8")
    assert word in dump()

    erased = erase_subject(
        tenant_id=stage.tenant_id, by=BY, subject=f"{word}@example.test"
    )
    assert erased == [session.id]
    with refused("data_erased", status=410):
        read_checkpoint(who=who, run_id=run.id)
    with refused("data_erased", status=410):
        start_run(who=who, session_id=session.id)
    purge_all(stage)

    found = dump()
    assert word not in found
    assert word.encode().hex() not in found
    assert stage.fresh(request).state == "cancelled"
    assert count(stage, Item, session_id=other) == 3
    assert kinds_of(stage.tenant_id, session.id)[-2:] == [
        "session.erased",
        "session.purged",
    ]
    assert verify_tenant(stage.tenant_id).intact
    case = f"/t/{stage.house.tenant.slug}/queue/{request.id}"
    client = Client()
    client.force_login(stage.bob.user)
    assert client.get(case).status_code == 200


def test_what_came_of_work_goes_with_it(stage: Stage) -> None:
    word, robot = f"pii{unique()}", stage.house.robot
    api, who, run = Api.of(robot), robot.principal, stage.run()
    call = {"type": "function_call", "call_id": "c", "name": word, "arguments": "{}"}
    said = api.post(f"sessions/{run.session_id}/items", {"items": [call]})
    assert said.status_code == 201
    assert api.post(f"runs/{run.id}/context", {}).status_code == 201
    request = stage.ask(run, tool_call_id=word)
    stage.answer(request)
    with tenant_transaction(stage.tenant_id):
        fence = Run.objects.get(id=run.id).fence
    started = redeem(who, request_id=request.id, fence=fence)
    done = {"attempt": 1, "outcome": "confirmed", "external_id": word}
    place = f"effects/{started.effect.id}/report"
    assert api.post(place, done, fence=started.attempt.fence).status_code == 200
    at = f"runs/{run.id}/checkpoints"
    assert word in api.post(f"{at}/head/restore").content.decode()
    assert api.post(f"{at}/1/fork", {"reason": word}).status_code == 201
    gone(stage, run.session_id, word)
    page = reader(stage, stage.house.alice).get(f"runs/{run.id}")
    assert page.status_code == 200


def test_what_the_protocol_keeps_goes(stage: Stage) -> None:
    word, robot = f"pii{unique()}", stage.house.robot.client()
    place, kind = "/api/aap/v1/requests", "application/json"
    keys = [{"Idempotency-Key": f"{word}-{number}"} for number in range(2)]
    body = {"tool": "pay", "arguments": ARGUMENTS, "timeout": "10m"}
    body |= {"server": word, "agent_reasoning": word, "context": {"call_id": word}}
    asked = robot.post(place, body, content_type=kind, headers=keys[0])
    with tenant_transaction(stage.tenant_id):
        request = Request.objects.get(id=asked.json()["id"])
    stage.answer(request)
    one = f"{place}/{request.id}"
    used = robot.post(f"{one}/consume", headers=keys[1])
    assert used.status_code == 200, used.content
    outcome = {"status": "succeeded", "note": word}
    for _ in range(2):
        told = robot.post(f"{one}/outcome", outcome, content_type=kind)
        assert told.json()["consumption"]["outcome"]["note"] == word
    assert told.json()["context"] == {"call_id": word}
    gone(stage, request.session_id, word)
    for answer in (
        robot.get(one),
        robot.post(place, body, content_type=kind, headers=keys[0]),
        robot.post(f"{one}/outcome", outcome, content_type=kind),
    ):
        assert (answer.status_code, answer.json()["error"]["code"]) == (
            410,
            "data_erased",
        )


def killed_and_resumed(stage: Stage, sessions: int, items: int, step: int) -> None:
    """Kill a purge in the middle with SIGKILL; the next one ends it."""
    for _ in range(sessions):
        session_id = ended_session(stage, items=0)
        fill(stage, session_id, items)
        age(stage, session_id, 31)
    set_retention(tenant_id=stage.tenant_id, by=BY, days=30)
    total = sessions * items
    purge = start_purge(stage, step)
    wait_until(lambda: 0 < count(stage, Item) < total or purge.poll() is not None)
    os.kill(purge.pid, signal.SIGKILL)
    assert purge.wait(30) == -signal.SIGKILL
    left = count(stage, Item)
    assert 0 < left < total

    seen: list[tuple[int, int]] = []
    purge_tenant(stage.tenant_id, step=step, progress=lambda *at: seen.append(at))
    assert count(stage, Item) == 0
    assert count(stage, Session, due_at__isnull=False) == 0
    assert seen[-1][0] >= left
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert verify_tenant(stage.tenant_id).intact


def fill(stage: Stage, session_id: UUID, items: int) -> None:
    superuser_says(
        "insert into agent_sessions_item (id, tenant_id, session_id, position, raw)"
        f" select gen_random_uuid(), '{stage.tenant_id}', '{session_id}', n, '1'"
        f" from generate_series(1, {items}) n"
    )


def start_purge(stage: Stage, step: int) -> subprocess.Popen[bytes]:
    manage = Path(__file__).parents[2] / "manage.py"
    command = [sys.executable, str(manage), "purge", "--tenant", str(stage.tenant_id)]
    return subprocess.Popen(
        [*command, "--step", str(step), "--json"], stdout=subprocess.DEVNULL
    )


def wait_until(condition: Callable[[], bool]) -> None:
    import time

    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline


def test_a_purge_that_was_killed_goes_on(stage: Stage) -> None:
    killed_and_resumed(stage, sessions=2, items=1_500, step=5)


@pytest.mark.long
def test_a_hundred_thousand_items_go_with_progress_and_a_kill(stage: Stage) -> None:
    killed_and_resumed(stage, sessions=20, items=5_000, step=500)


def test_the_commands_say_what_they_do(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    slug, session_id = stage.house.tenant.slug, ended_session(stage)
    call_command("retention", slug, days="30", hold="Dispute", session=session_id)
    said = capsys.readouterr().out
    assert "everything else: 30 days" in said
    hold = said.split("hold ")[1].split()[0]
    call_command("retention", slug, days="forever", lift=hold, reason="Over.")
    assert capsys.readouterr().out == "kept for ever\n"
    call_command("erase_subject", slug, "customer-7", confirm="customer-7")
    call_command("purge", tenant=slug)
    assert "1 sessions erased" in capsys.readouterr().out
    assert count(stage, Item) == 0


def test_a_command_erases_one_session_and_no_other(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    slug, session_id = stage.house.tenant.slug, ended_session(stage)
    other = ended_session(stage, subject="customer-7")
    asked = str(session_id)
    with pytest.raises(CommandError, match="another session"):
        call_command("erase_session", slug, asked, confirm=other)
    with pytest.raises(CommandError, match="not_found"):
        call_command("erase_session", slug, str(stage.bob.id), confirm=stage.bob.id)
    hold = place_hold(
        tenant_id=stage.tenant_id, by=BY, reason="Dispute", session_id=session_id
    )
    with pytest.raises(CommandError, match="legal_hold"):
        call_command("erase_session", slug, asked, confirm=session_id)
    lift_hold(tenant_id=stage.tenant_id, by=BY, hold_id=hold.id, reason="Over.")
    assert count(stage, Session, erased_at=None) == 2
    call_command("erase_session", slug, asked, confirm=session_id)
    assert capsys.readouterr().out == "1 session erased. Remove the rows: purge\n"
    assert count(stage, Session, id=session_id, erased_at=None) == 0
    assert count(stage, Session, id=other, erased_at=None) == 1
    assert kinds_of(stage.tenant_id, session_id)[-1] == "session.erased"
    with pytest.raises(CommandError, match="data_erased"):
        call_command("erase_session", slug, asked, confirm=session_id)
