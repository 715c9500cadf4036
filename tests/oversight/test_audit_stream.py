"""The audit log for a SIEM: resumable, bounded, told of in the log, and for its key alone."""

import json
from base64 import b64decode
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.test import AsyncClient, Client

from audit.chain import link, preimage
from audit.models import Entry
from kernel.canonical import canonical_bytes
from kernel.ids import new_id
from kernel.scope import tenant_transaction
from oversight.services.exporting import record_stream
from tenants.services import disable_agent, revoke_key
from tests.approvals.stage import Stage, fresh_stage
from tests.factories import Machine, fresh_key
from tests.refusals import refused

PROOF = ("prev", "hash", "signature", "key_id")


@pytest.fixture
def stage() -> Stage:
    return fresh_stage()


@pytest.fixture
def siem(stage: Stage) -> Machine:
    house = stage.house
    return fresh_key(house.alice, house.robot.agent, scopes=["audit:read"])


def read(who: Machine, query: str = "", path: str = "audit") -> tuple[Any, bytes]:
    async def take() -> tuple[Any, bytes]:
        headers = {"Authorization": f"Bearer {who.text}"}
        answer = await AsyncClient().get(f"/api/v1/{path}{query}", headers=headers)
        if not answer.streaming:
            return answer, answer.content
        chunks = [chunk async for chunk in answer.streaming_content]  # type: ignore[attr-defined]
        return answer, b"".join(chunks)

    return async_to_sync(take)()


def entries(who: Machine, query: str = "") -> list[dict[str, Any]]:
    answer, body = read(who, query)
    assert (answer.status_code, answer["Content-Type"]) == (200, "application/x-ndjson")
    return [json.loads(line) for line in body.splitlines()]


def told(stage: Stage, kind: str) -> int:
    with tenant_transaction(stage.tenant_id):
        return Entry.objects.filter(tenant_id=stage.tenant_id, kind=kind).count()


def test_whoever_comes_back_with_the_cursor_misses_nothing(
    stage: Stage, siem: Machine
) -> None:
    found, after = [], 0
    while some := entries(siem, f"?after={after}&limit=7"):
        assert len(some) <= 7
        found += some
        after = some[-1]["seq"]
    assert [one["seq"] for one in found] == list(range(1, len(found) + 1))
    request = stage.ask()
    later = entries(siem, f"?after={after}")
    assert str(request.id) in {one["subject"]["id"] for one in later}


def test_each_line_is_what_was_signed(stage: Stage, siem: Machine) -> None:
    prev = bytes(32)
    for one in entries(siem):
        body = canonical_bytes({k: v for k, v in one.items() if k not in PROOF})
        statement = preimage(
            tenant_id=stage.tenant_id, seq=one["seq"], prev=prev, body=body
        )
        prev = link(statement)
        assert b64decode(one["hash"]) == prev


def test_reading_is_an_entry_itself_once_an_hour(stage: Stage, siem: Machine) -> None:
    for _ in range(3):
        entries(siem, "?limit=1")
    assert told(stage, "audit.streamed") == 1
    other = fresh_key(stage.house.alice, stage.house.robot.agent, scopes=["audit:read"])
    entries(other, "?limit=1")
    assert told(stage, "audit.streamed") == 2


@pytest.mark.parametrize(
    "query",
    ["?after=-1", "?after=x", "?limit=0", "?limit=10001", "?seq=1", "?after=1e3"],
)
def test_a_cursor_that_is_none_is_refused(siem: Machine, query: str) -> None:
    answer, body = read(siem, query)
    assert (answer.status_code, json.loads(body)["code"]) == (400, "invalid_parameter")


@pytest.mark.parametrize("path", ["audit", "runs/{}/bundle"])
def test_no_other_key_and_no_dead_one_reads_it(
    stage: Stage, siem: Machine, path: str
) -> None:
    place = path.format(stage.run().id)
    assert read(siem, path=place)[0].status_code == 200
    assert read(stage.house.robot, path=place)[0].status_code == 403
    assert Client().get(f"/api/v1/{place}").status_code == 401
    assert stage.house.alice.browser().get(f"/api/v1/{place}").status_code == 401
    answer = Client().post(f"/api/v1/{place}")
    assert (answer.status_code, answer["Allow"]) == (405, "GET")
    by = stage.house.alice.id
    revoke_key(tenant_id=stage.tenant_id, by=by, key_id=siem.key.id)
    assert read(siem, path=place)[0].status_code == 401


def test_its_key_opens_nothing_else(stage: Stage, siem: Machine) -> None:
    for place in ("sessions", "runs", "approvals"):
        assert siem.client().get(f"/api/v1/{place}").status_code == 403
    assert siem.client().post("/api/v1/sessions", {}).status_code == 403
    with refused("scope_alone"):
        fresh_key(
            stage.house.alice, stage.house.robot.agent, scopes=["audit:read", "read"]
        )
    with refused("not_permitted"):
        record_stream(stage.house.robot.principal, after=0)


def test_a_run_is_taken_by_its_id_and_another_tenants_is_not_there(
    stage: Stage, siem: Machine
) -> None:
    run = stage.run()
    answer, body = read(siem, path=f"runs/{run.id}/bundle")
    assert answer.status_code == 200
    assert json.loads(body.splitlines()[0])["about"] == {"run": str(run.id)}
    assert told(stage, "audit.exported") == 1
    foreign = fresh_stage().run().id
    answers = [read(siem, path=f"runs/{id}/bundle") for id in (foreign, new_id())]
    assert {answer.status_code for answer, _ in answers} == {404}
    assert answers[0][1] == answers[1][1]


def test_nothing_of_another_tenant_is_in_it(stage: Stage, siem: Machine) -> None:
    other = fresh_stage()
    assert {one["tenant"] for one in entries(siem)} == {str(stage.tenant_id)}
    assert other.tenant_id != stage.tenant_id


def test_a_disabled_agents_key_reads_no_more(stage: Stage, siem: Machine) -> None:
    by = stage.house.alice.id
    disable_agent(tenant_id=stage.tenant_id, by=by, agent_id=stage.house.robot.agent.id)
    assert read(siem)[0].status_code == 401
