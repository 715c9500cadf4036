"""What is kept for a repetition names things, and holds nothing that is sealed."""

import json
from base64 import b64encode
from functools import cached_property
from typing import Any

import pytest

from approvals.resume.purging import purge_tenant
from approvals.services.erasure import erase_session
from checkpoints.checkpoint import Position
from checkpoints.services import save_checkpoint
from kernel.scope import tenant_transaction
from sessions.models import Run
from sessions.services import append_items
from tenants.checks import Operator
from tenants.models import IdempotencyRecord
from tests.api import Api
from tests.api.door import Door
from tests.api.doors import WRITING
from tests.api.world import World, fresh_world
from tests.factories import unique

WORD = f"sealed{unique()}"
ENCODED = b64encode(WORD.encode()).decode()


class ToldWorld(World):
    """A world whose run saved the word, and in whose session it was said."""

    @cached_property
    def run(self) -> Run:
        run, who = self.stage.run(), self.house.robot.principal
        item = json.dumps({"role": "user", "content": f"It is {WORD}."})
        append_items(who=who, session_id=run.session_id, items=[item])
        saved = Position(
            parent=None, schema_version=1, payload=WORD.encode(), header={}
        )
        save_checkpoint(who=who, run_id=run.id, fence=run.fence, position=saved)
        return run


@pytest.fixture(scope="module")
def shared() -> World:
    return fresh_world()


@pytest.fixture
def world(shared: World) -> World:
    return ToldWorld(stage=shared.stage)


@pytest.mark.parametrize("door", WRITING, ids=lambda door: door.name)
def test_no_kept_answer_holds_what_is_sealed(door: Door, world: World) -> None:
    body = json.dumps(told(door.body(world) if door.body else {})).encode()
    key = {"Idempotency-Key": f"kept-{unique()}"}
    answer = door.call(world, raw=body, headers=key)
    assert answer.status_code in {200, 201}, answer.content
    with tenant_transaction(world.house.id):
        kept = list(IdempotencyRecord.objects.values_list("response", flat=True))
    assert [one for one in kept if WORD in one or ENCODED in one] == []


def told(body: Any) -> Any:
    """The body with the word in whatever of it is kept sealed."""
    if isinstance(body, list):
        return [told(one) for one in body]
    if not isinstance(body, dict):
        return body
    instead = {
        "items": [{"a": WORD}],
        "text": WORD,
        "payload": ENCODED,
        "expected_last": 1,
    }
    return {name: instead.get(name, told(value)) for name, value in body.items()}


def test_no_answer_outlives_what_was_erased(shared: World) -> None:
    world, api = ToldWorld(stage=shared.stage), Api.of(shared.house.robot)
    session, run = world.session, world.run
    summary = {"first": 1, "last": 1, "text": WORD}
    asked: list[tuple[str, dict[str, Any]]] = [
        (f"runs/{run.id}/context", {}),
        (f"sessions/{session}/summaries", summary),
    ]
    for path, body in asked:
        answer = api.post(path, body, Idempotency_Key=path[:4])
        assert (answer.status_code, WORD in answer.content.decode()) == (201, True)
    erase_session(tenant_id=world.house.id, by=Operator.CONSOLE, session_id=session)
    for _ in range(2):
        for path, body in asked:
            answer = api.post(path, body, Idempotency_Key=path[:4])
            assert WORD not in answer.content.decode()
            assert "Idempotent-Replay" not in answer
        assert (answer.status_code, answer.json()["code"]) == (410, "data_erased")
        purge_tenant(world.house.id)
