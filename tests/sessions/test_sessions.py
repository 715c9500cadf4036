"""Sessions and their items: one owner, one subject, no gap, no byte lost."""

import json
from functools import partial

import pytest

from kernel.problems import Problem
from kernel.scope import tenant_transaction
from sessions.models import Item, Run, Session
from sessions.queries import latest_items
from sessions.services import append_items, open_session, start_run
from tenants.principal import Principal
from tests.chain import kinds_of
from tests.concurrency import together
from tests.refusals import refused


def raws(who: Principal, session: Session) -> list[str]:
    with tenant_transaction(who.tenant_id):
        return [item.raw for item in latest_items(session, 10_000)]


def test_an_external_id_opens_a_session_once(who: Principal) -> None:
    first = open_session(who=who, subject="customer-7", external_id="TASK-1842")
    again = open_session(who=who, subject="customer-7", external_id="TASK-1842")

    assert again.id == first.id
    assert kinds_of(who.tenant_id, first.id) == ["session.opened"]


def test_without_an_external_id_each_session_is_new(who: Principal) -> None:
    first = open_session(who=who, subject="customer-7")
    assert open_session(who=who, subject="customer-7").id != first.id


def test_whom_a_session_serves_never_changes(who: Principal) -> None:
    open_session(who=who, subject="customer-7", external_id="TASK-1842")
    with refused("subject_differs", status=409):
        open_session(who=who, subject="customer-8", external_id="TASK-1842")


def test_external_ids_of_agents_are_independent(
    who: Principal, strangers: dict[str, Principal]
) -> None:
    ids = {
        open_session(who=each, subject="customer-7", external_id="TASK-1842").id
        for each in (who, *strangers.values())
    }
    assert len(ids) == 3


def test_eight_openers_at_once_share_one_session(who: Principal) -> None:
    def act() -> Session:
        return open_session(who=who, subject="customer-7", external_id="TASK-1")

    sessions = together(*[act] * 8)
    assert {each.id for each in sessions if isinstance(each, Session)} == {
        sessions[0].id  # type: ignore[union-attr]
    }
    assert len(sessions) == 8


def test_items_keep_every_byte_and_their_order(
    who: Principal, session: Session
) -> None:
    items = [
        '{"b": 1, "a":  2, "b": 3}',
        '{"text": "\\u0000 \\ud800", "n": 1e400, "x": 1.0}',
        '"\\u00e9 é"',
    ]
    append_items(who=who, session_id=session.id, items=items[:2])
    append_items(who=who, session_id=session.id, items=items[2:])

    assert raws(who, session) == items


def test_the_latest_items_come_in_the_order_they_were_said(
    who: Principal, session: Session
) -> None:
    append_items(who=who, session_id=session.id, items=list("12345"))
    with tenant_transaction(who.tenant_id):
        assert [item.raw for item in latest_items(session, 2)] == ["4", "5"]
        assert latest_items(session, 0) == []


def test_adding_nothing_leaves_no_trace(who: Principal, session: Session) -> None:
    assert append_items(who=who, session_id=session.id, items=[]) == []
    assert kinds_of(who.tenant_id, session.id) == ["session.opened"]


def test_sixteen_appenders_leave_no_gap_and_mix_no_batch(
    who: Principal, session: Session
) -> None:
    def append(writer: int) -> list[Item]:
        batch = [json.dumps([writer, place]) for place in range(3)]
        return append_items(who=who, session_id=session.id, items=batch)

    batches = together(*[partial(append, each) for each in range(16)])
    assert not [each for each in batches if isinstance(each, Exception)]

    with tenant_transaction(who.tenant_id):
        items = latest_items(session, 1_000)
    assert [item.position for item in items] == list(range(1, 49))
    said = [json.loads(item.raw) for item in items]
    for start in range(0, 48, 3):
        assert said[start : start + 3] == [
            [said[start][0], place] for place in range(3)
        ]


def test_an_item_names_a_run_of_its_own_session_only(
    who: Principal, session: Session, run: Run
) -> None:
    elsewhere = open_session(who=who, subject="customer-8")
    other, _ = start_run(who=who, session_id=elsewhere.id)

    (item,) = append_items(
        who=who, session_id=session.id, items=["1"], run_id=run.id, fence=run.fence
    )
    assert item.run == run.id
    with refused("not_found", status=404):
        append_items(who=who, session_id=session.id, items=["2"], run_id=other.id)
    with refused("stale_writer", status=409):
        append_items(
            who=who, session_id=session.id, items=["3"], run_id=run.id, fence=99
        )
    assert raws(who, session) == ["1"]


def test_a_stranger_adds_nothing_and_learns_nothing(
    who: Principal, session: Session, strangers: dict[str, Principal]
) -> None:
    for stranger in strangers.values():
        with pytest.raises(Problem) as theirs:
            append_items(who=stranger, session_id=session.id, items=["1"])
        with pytest.raises(Problem) as nobodys:
            append_items(who=stranger, session_id=stranger.key_id, items=["1"])
        assert theirs.value.document() == nobodys.value.document()
    assert raws(who, session) == []
