"""What is sent again is what people agreed to, or nothing: rows can be rewritten."""

import hashlib
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from approvals.models import Request
from approvals.resume.work import work
from approvals.services.attention import release_run
from checkpoints.services import change_tool
from kernel.scope import tenant_transaction
from sessions.models import Run
from tests.approvals.stage import Stage, fresh_stage
from tests.approvals.superuser import superuser
from tests.approvals.test_resume import effect_of, jobs_of, make_due
from tests.approvals.tool_server import ToolServer

type Rewrite = Callable[[psycopg.Connection, Request], object]

MORE = "replace(convert_from({0}, 'UTF8'), '1240.00', '9240.00')::bytea"


def the_action(server: psycopg.Connection, request: Request) -> None:
    server.execute(
        f"UPDATE checkpoints_effect SET action = {MORE.format('action')}"
        " WHERE request = %s",
        [request.id],
    )


def the_wording(server: psycopg.Connection, request: Request) -> None:
    server.execute(
        f"UPDATE approvals_revision SET envelope = {MORE.format('envelope')}"
        " WHERE request_id = %s",
        [request.id],
    )


def the_wording_with_its_digest(server: psycopg.Connection, request: Request) -> None:
    the_wording(server, request)
    ((envelope,),) = server.execute(
        "SELECT envelope FROM approvals_revision WHERE request_id = %s", [request.id]
    ).fetchall()
    digest = hashlib.sha256(b"keyturn/approval/v1\0" + bytes(envelope)).digest()
    server.execute(
        "UPDATE approvals_revision SET digest = %s WHERE request_id = %s",
        [digest, request.id],
    )


def the_key(server: psycopg.Connection, request: Request) -> None:
    """As if another action had been agreed to, which the tool has not seen yet."""
    server.execute(
        "UPDATE checkpoints_effect SET key = sha256(key) WHERE request = %s",
        [request.id],
    )


def where_it_is_sent(server: psycopg.Connection, request: Request) -> None:
    server.execute(
        "UPDATE checkpoints_tool SET definition = jsonb_set(definition, '{url}',"
        " to_jsonb((definition ->> 'url') || '/elsewhere'))"
        ", digest = sha256(digest) WHERE id = %s",
        [request.tool_id],
    )


def lost(server: ToolServer) -> tuple[Stage, Run, Request]:
    """Sent once; nobody knows what came of it, and the same key may be sent again."""
    terms = server.definition(resend=True)
    del terms["status_url"]  # it cannot be asked
    return sent(server, terms, "drop")


def sent(
    server: ToolServer, terms: dict[str, Any], behaviour: str
) -> tuple[Stage, Run, Request]:
    """Once, without an answer; the next look is due."""
    stage = fresh_stage("managed", **terms)
    run = stage.run()
    request = stage.ask(run)
    stage.answer(request)
    server.current.behaviour = behaviour
    assert work(jobs_of(stage, request)[0].id) == "unknown"
    server.current.behaviour = "confirm"
    make_due(stage, request)
    return stage, run, request


@pytest.mark.parametrize(
    "rewrite",
    [
        the_action,
        the_wording,
        the_wording_with_its_digest,
        the_key,
        where_it_is_sent,
    ],
)
def test_what_nobody_agreed_to_is_not_sent_again(
    tool_server: ToolServer, rewrite: Rewrite
) -> None:
    stage, run, request = lost(tool_server)
    with superuser() as server:
        rewrite(server, request)
    assert work(jobs_of(stage, request)[0].id) == "effect.needs_attention"
    assert tool_server.calls() == 1
    assert effect_of(stage, request).state == "needs_attention"
    assert state_of(stage, run) == Run.State.NEEDS_ATTENTION


def state_of(stage: Stage, run: Run) -> str:
    with tenant_transaction(stage.tenant_id):
        return Run.objects.get(id=run.id).state


ANSWERS = {"drop": "absent", "commit_then_drop": "confirmed"}  # when it is asked


@pytest.mark.parametrize("behaviour", ANSWERS)
@pytest.mark.parametrize(
    "rewrite", [the_action, the_wording, the_wording_with_its_digest, the_key]
)
def test_no_outcome_follows_from_altered_rows(
    tool_server: ToolServer, rewrite: Rewrite, behaviour: str
) -> None:
    """Whatever the tool says, it says of what nobody agreed to."""
    terms = tool_server.definition(attempts=1)
    stage, run, request = sent(tool_server, terms, behaviour)
    with superuser() as server:
        rewrite(server, request)
    assert work(jobs_of(stage, request)[0].id) == "effect.needs_attention"
    assert effect_of(stage, request).state == "needs_attention"
    assert state_of(stage, run) == Run.State.NEEDS_ATTENTION


def test_what_never_left_stays_absent_and_a_person_looks(
    tool_server: ToolServer,
) -> None:
    """Nobody is at the tool's address; then the wording is rewritten."""
    nowhere = {"url": "http://127.0.0.1:1/pay"}
    stage = fresh_stage("managed", **tool_server.definition() | nowhere)
    run = stage.run()
    request = stage.ask(run)
    stage.answer(request)
    assert work(jobs_of(stage, request)[0].id) == "absent"
    make_due(stage, request)
    with superuser() as server:
        the_wording(server, request)
    assert work(jobs_of(stage, request)[0].id) == "effect.needs_attention"
    assert effect_of(stage, request).state == "absent"
    assert state_of(stage, run) == Run.State.NEEDS_ATTENTION
    release_run(stage.house.alice.person, run_id=run.id, reason="It was rewritten.")
    assert state_of(stage, run) == Run.State.RUNNING


@pytest.mark.parametrize("behaviour", ANSWERS)
def test_the_tool_is_believed_of_what_was_agreed_to(
    tool_server: ToolServer, behaviour: str
) -> None:
    terms = tool_server.definition(attempts=1)
    stage, run, request = sent(tool_server, terms, behaviour)
    assert work(jobs_of(stage, request)[0].id) == ANSWERS[behaviour]
    assert effect_of(stage, request).state == ANSWERS[behaviour]
    assert state_of(stage, run) == Run.State.RUNNING


def test_that_another_address_does_not_know_of_it_proves_nothing(
    tool_server: ToolServer,
) -> None:
    """It happened; then the tool is moved to a system that never heard of it."""
    terms = tool_server.definition(attempts=1)
    stage, run, request = sent(tool_server, terms, "commit_then_drop")
    elsewhere = {"status_url": tool_server.definition()["status_url"]}
    change_tool(
        tenant_id=stage.tenant_id,
        by=stage.house.alice.id,
        tool_id=stage.tool.id,
        mode="managed",
        risk="high",
        definition=stage.tool.definition | elsewhere,
    )
    assert work(jobs_of(stage, request)[0].id) == "effect.needs_attention"
    assert effect_of(stage, request).state == "needs_attention"
    assert state_of(stage, run) == Run.State.NEEDS_ATTENTION


def test_what_was_agreed_to_is_sent_again_as_it_was(tool_server: ToolServer) -> None:
    stage, _, request = lost(tool_server)
    assert work(jobs_of(stage, request)[0].id) == "confirmed"
    first, second = tool_server.keys()
    assert first == second
