"""The operations against the real server, where no flow uses them."""

import asyncio

import pytest

from keyturn import Conflict, Fact
from keyturn.errors import NotFound
from tests.sdk.worlds import Real

ODD = [{"b": 1, "a": "\ud800\x00"}, {"call": [1, 2.5, None]}]


def test_items_come_back_as_they_were_said(real: Real) -> None:
    with real.client() as client:
        session = client.open_session(subject="customer-7").id
        client.append_items(session, ODD)
        items = client.list_items(session).items
        assert [one.data for one in items] == ODD
        assert list(items[0].data) == ["b", "a"]
        popped = client.pop_item(session).item
        assert popped is not None
        assert popped.data == ODD[1]
        client.replace_items(
            session, ["kept"], expected_last=items[0].position, reason="compacted"
        )
        with pytest.raises(Conflict):
            client.replace_items(session, ["late"], expected_last=items[0].position)
        assert [one.data for one in client.list_items(session).items] == ["kept"]
        assert client.clear_items(session).removed == 1
        assert client.pop_item(session).item is None


def test_a_run_as_it_was(real: Real) -> None:
    with real.client() as client, client.run("TASK-1", subject="customer-7") as run:
        for lines in (3, 4):
            fact = Fact(value=lines, provenance="system", reference="counter/1")
            run.record({"lines": fact}, reason="Counted")
        then = client.get_state(run.id, version=1)
        assert (then.version, then.facts["lines"]["value"]) == (1, 3)
        assert client.get_state(run.id, at=then.at).version == 1
        (changed,) = client.diff_state(run.id, before=1, after=2).facts
        assert (changed["before"]["value"], changed["after"]["value"]) == (3, 4)
        run.checkpoint({"step": "counted"})
        assert client.restore_checkpoint(run.id, "head").payload == '{"step":"counted"}'
        forked = client.fork_run(run.id, 1, reason="To try again")
        assert forked.run.id != run.id
        assert forked.forked_from["run"] == run.id


def test_the_contract_of_a_kind_of_work(real: Real) -> None:
    with real.client() as client:
        client.start_run(client.open_session(subject="customer-7").id)
        (kind,) = [
            one for one in client.list_workflows().items if one.kind == "default"
        ]
        told = client.get_workflow("default", version=kind.version)
        assert (told.definition, told.versions) == ({}, (1,))
        with pytest.raises(NotFound):
            client.get_workflow("default", version=2)


def test_a_branch_and_what_a_model_sees_of_it(real: Real) -> None:
    with real.client() as client:
        session = client.open_session(subject="customer-7").id
        client.append_items(session, [{"role": "user", "content": "Pay."}])
        branch = client.begin_branch(session)
        assert client.list_branches(session).items[-1] == branch
        run = client.start_run(session, branch=branch.number)
        seen = client.get_context(run.id, shape="openai", max_tokens=1000)
        assert (seen.run, seen.shape) == (run.id, "openai")
        assert client.record_context(run.id).digest


def test_a_file_comes_back_as_it_was_put(real: Real) -> None:
    content = b"%PDF-1.7\n\x00\xff"
    with real.client() as client:
        session = client.open_session(subject="customer-7").id
        put = client.put_artifact(
            session, content, type="application/pdf", name="Rg. ü.pdf", expires_in=600
        )
        assert (put.name, put.type, put.size) == ("Rg. ü.pdf", "application/pdf", 11)
        assert (put.expires_at - put.created_at).total_seconds() == pytest.approx(
            600, 1
        )
        assert client.list_artifacts(session).items == (put,)
        assert client.get_artifact(session, put.sha256) == put
        assert client.get_artifact_content(session, put.sha256) == content
        assert client.remove_artifact(session, put.sha256) == put
        with pytest.raises(NotFound):
            client.get_artifact_content(session, put.sha256)


def test_a_file_on_an_event_loop(real: Real) -> None:
    async def put_and_fetch() -> bytes:
        async with real.async_client() as client:
            session = (await client.open_session(subject="customer-7")).id
            put = await client.put_artifact(session, b"a,b", type="text/csv")
            return await client.get_artifact_content(session, put.sha256)

    assert asyncio.run(put_and_fetch()) == b"a,b"
