"""What is said in a session: no gap, no byte lost, and what is taken back is on record."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.db import ProgrammingError, connection

from kernel.scope import tenant_transaction
from sessions.models import Item, Removal, Run, Session
from sessions.queries import latest_items
from sessions.services import (
    Place,
    append_items,
    branch_session,
    claim_run,
    clear_items,
    open_session,
    pop_item,
    replace_items,
    start_run,
)
from tenants.principal import Principal
from tests.chain import kinds_of
from tests.checkpoints.tampering import superuser_says
from tests.concurrency import together
from tests.refusals import refused
from tests.sessions.said import positions, raws
from tests.sessions.test_runs import move


@pytest.fixture
def place(session: Session) -> Place:
    return Place(session_id=session.id)


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


APPENDERS = 16


def append_at_once(who: Principal, session: Session, *, batches: int) -> None:
    """Sixteen writers, each with batches of three; what each wrote stays together."""

    def append(writer: int) -> None:
        for number in range(batches):
            batch = [json.dumps([writer, number, place]) for place in range(3)]
            append_items(who=who, session_id=session.id, items=batch)
            connection.close()  # as a request does; they are fewer than the writers

    acts = [partial(append, each) for each in range(APPENDERS)]
    assert not [one for one in together(*acts) if isinstance(one, Exception)]

    total = APPENDERS * batches * 3
    with tenant_transaction(who.tenant_id):
        items = latest_items(session, total + 1)
    assert [item.position for item in items] == list(range(1, total + 1))
    said = [json.loads(item.raw) for item in items]
    for start in range(0, total, 3):
        writer, number, _ = said[start]
        assert said[start : start + 3] == [[writer, number, n] for n in range(3)]
    for writer in range(APPENDERS):
        mine = [number for who, number, place in said if who == writer and place == 0]
        assert mine == list(range(batches))


def test_sixteen_appenders_leave_no_gap_and_mix_no_batch(
    who: Principal, session: Session
) -> None:
    append_at_once(who, session, batches=6)


@pytest.mark.long
def test_sixteen_appenders_of_five_hundred_batches(
    who: Principal, session: Session
) -> None:
    append_at_once(who, session, batches=500)


def test_an_item_names_a_run_of_its_own_session_only(
    who: Principal, session: Session, run: Run
) -> None:
    elsewhere = open_session(who=who, subject="customer-8")
    other, _ = start_run(who=who, session_id=elsewhere.id)

    (item,) = append_items(
        who=who, session_id=session.id, items=["1"], run_id=run.id, fence=run.fence
    )
    assert (item.run, item.fence) == (run.id, run.fence)
    with refused("not_found", status=404):
        append_items(
            who=who, session_id=session.id, items=["2"], run_id=other.id, fence=1
        )
    with refused("stale_writer", status=409):
        append_items(
            who=who, session_id=session.id, items=["3"], run_id=run.id, fence=99
        )
    assert raws(who, session) == ["1"]


def test_a_run_writes_with_the_fence_of_its_one_writer(
    who: Principal, session: Session, run: Run
) -> None:
    add = partial(append_items, who=who, session_id=session.id, run_id=run.id)
    with refused("fence_required", status=428):
        add(items=["1"])
    taken = claim_run(who=who, run_id=run.id)
    with refused("stale_writer", status=409):
        add(items=["1"], fence=run.fence)
    (item,) = add(items=["1"], fence=taken.fence)
    assert item.fence == taken.fence


def test_the_newest_item_is_taken_back_and_its_position_never_given_again(
    who: Principal, session: Session, place: Place
) -> None:
    append_items(who=who, session_id=session.id, items=["1", "2"])
    popped = pop_item(who=who, place=place)
    assert popped is not None
    assert (popped.raw, popped.position) == ("2", 2)
    append_items(who=who, session_id=session.id, items=["3"])

    assert raws(who, session) == ["1", "3"]
    assert positions(who, session) == [1, 3]
    assert kinds_of(who.tenant_id, session.id)[-2:] == [
        "session.items_removed",
        "session.items_appended",
    ]


def test_of_an_empty_session_nothing_is_taken_and_nothing_recorded(
    who: Principal, session: Session, place: Place
) -> None:
    assert pop_item(who=who, place=place) is None
    assert clear_items(who=who, place=place) is None
    assert kinds_of(who.tenant_id, session.id) == ["session.opened"]


def test_no_two_take_the_same_item(
    who: Principal, session: Session, place: Place
) -> None:
    append_items(who=who, session_id=session.id, items=[str(n) for n in range(8)])
    popped = together(*[partial(pop_item, who=who, place=place)] * 12)

    taken = [one.raw for one in popped if isinstance(one, Item)]
    assert sorted(taken) == [str(n) for n in range(8)]
    assert popped.count(None) == 4


def test_what_is_cleared_leaves_a_tombstone(
    who: Principal, session: Session, place: Place
) -> None:
    append_items(who=who, session_id=session.id, items=["1", "2", "3"])
    removal = clear_items(who=who, place=place, reason="The customer asked for it.")
    assert removal is not None
    assert clear_items(who=who, place=place) is None

    assert raws(who, session) == []
    with tenant_transaction(who.tenant_id):
        kept = Removal.objects.get(session_id=session.id)
        assert (kept.kind, kept.first, kept.last, kept.count) == ("clear", 1, 3, 3)
        assert kept.reason == "The customer asked for it."
        removed = Item.objects.filter(session_id=session.id, removal=kept.number)
        assert removed.count() == 3
    assert kinds_of(who.tenant_id, session.id)[-1] == "session.items_removed"


def test_a_tombstone_is_not_lifted(who: Principal, session: Session) -> None:
    """The app role adds tombstones, and neither changes nor removes one."""
    append_items(who=who, session_id=session.id, items=["1"])
    clear_items(who=who, place=Place(session_id=session.id))
    for statement in (
        "UPDATE agent_sessions_removal SET count = 0",
        "DELETE FROM agent_sessions_removal",
        "UPDATE agent_sessions_item SET position = 7",
        "DELETE FROM agent_sessions_item",
    ):
        with (
            pytest.raises(ProgrammingError, match="permission denied"),
            tenant_transaction(who.tenant_id),
            connection.cursor() as cursor,
        ):
            cursor.execute(statement)


def test_a_history_is_replaced_in_one_step(
    who: Principal, session: Session, place: Place
) -> None:
    append_items(who=who, session_id=session.id, items=["1", "2", "3"])
    with refused("items_changed", status=409, pointer="/expected_last"):
        replace_items(who=who, place=place, items=["0"], expected_last=2)
    assert raws(who, session) == ["1", "2", "3"]

    compacted = ['{"type": "compaction", "encrypted_content": "gAAAA=="}', "3"]
    replace_items(who=who, place=place, items=compacted, expected_last=3)
    assert raws(who, session) == compacted
    assert positions(who, session) == [4, 5]


def test_nobody_reads_a_history_that_is_being_replaced(
    who: Principal, session: Session, place: Place
) -> None:
    """A reader sees all of the old or all of the new."""
    append_items(who=who, session_id=session.id, items=["old"] * 5)

    def replace() -> None:
        for _ in range(10):
            replace_items(who=who, place=place, items=['"new"'] * 3)
            replace_items(who=who, place=place, items=['"old"'] * 5)

    def read() -> list[list[str]]:
        return [raws(who, session) for _ in range(40)]

    outcomes = together(replace, read, read)
    assert not [one for one in outcomes if isinstance(one, Exception)]
    seen = {tuple(one) for reader in outcomes[1:] for one in reader}  # type: ignore[union-attr]
    assert seen <= {("old",) * 5, ('"old"',) * 5, ('"new"',) * 3}


REMOVING: dict[str, Callable[..., Any]] = {
    "pop": pop_item,
    "clear": clear_items,
    "replace": partial(replace_items, items=["0"]),
}


@pytest.mark.parametrize("verb", REMOVING)
def test_what_people_look_at_is_not_rewritten(
    who: Principal, session: Session, run: Run, verb: str
) -> None:
    append_items(who=who, session_id=session.id, items=["1"])
    move(who, run, "paused")
    own = Place(session_id=session.id, run_id=run.id, fence=run.fence)
    with refused("pause_open", status=409):
        REMOVING[verb](who=who, place=own)
    assert raws(who, session) == ["1"]


@pytest.mark.parametrize("verb", REMOVING)
def test_a_live_runs_branch_is_rewritten_by_that_run_alone(
    who: Principal, session: Session, run: Run, place: Place, verb: str
) -> None:
    append_items(who=who, session_id=session.id, items=["1"])
    with refused("branch_held", status=409):
        REMOVING[verb](who=who, place=place)
    own = Place(session_id=session.id, run_id=run.id, fence=run.fence)
    REMOVING[verb](who=who, place=own)
    assert raws(who, session) == (["0"] if verb == "replace" else [])


def test_while_a_run_waits_its_branch_is_leased(
    who: Principal, session: Session, run: Run
) -> None:
    append_items(who=who, session_id=session.id, items=["1"])
    move(who, run, "paused")
    with refused("branch_held", status=409):
        append_items(who=who, session_id=session.id, items=["2"])
    append_items(
        who=who, session_id=session.id, items=["3"], run_id=run.id, fence=run.fence
    )
    assert raws(who, session) == ["1", "3"]


def test_a_position_is_not_given_again_after_its_row_is_gone(
    who: Principal, session: Session
) -> None:
    branch = branch_session(who=who, session_id=session.id).number
    for line in (0, branch):
        append_items(who=who, session_id=session.id, items=["1", "2"], branch=line)
    superuser_says(f"delete from agent_sessions_item where session_id = '{session.id}'")
    for line in (0, branch):
        append_items(who=who, session_id=session.id, items=["3"], branch=line)
        assert positions(who, session, line) == [3]
