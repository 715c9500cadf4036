"""What is sent again is what people agreed to, or nothing: rows can be rewritten."""

import hashlib
from collections.abc import Callable

import psycopg
import pytest

from approvals.models import Request
from approvals.resume.work import work
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
    stage = fresh_stage("managed", **terms)
    run = stage.run()
    request = stage.ask(run)
    stage.answer(request)
    server.current.behaviour = "drop"
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
    with tenant_transaction(stage.tenant_id):
        assert Run.objects.get(id=run.id).state == Run.State.NEEDS_ATTENTION


def test_what_was_agreed_to_is_sent_again_as_it_was(tool_server: ToolServer) -> None:
    stage, _, request = lost(tool_server)
    assert work(jobs_of(stage, request)[0].id) == "confirmed"
    first, second = tool_server.keys()
    assert first == second
