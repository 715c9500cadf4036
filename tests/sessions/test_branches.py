"""Branches: what they take along stays theirs, and one live run is on each."""

from functools import partial

import pytest
from django.db import IntegrityError
from hypothesis import given, settings
from hypothesis import strategies as st

from kernel.scope import tenant_transaction
from sessions import branches
from sessions.models import Run, Session
from sessions.services import (
    Place,
    append_items,
    branch_session,
    clear_items,
    complete_run,
    open_session,
    pop_item,
    replace_items,
    start_run,
)
from tenants.principal import Principal
from tests.chain import kinds_of
from tests.checkpoints.tampering import tamper
from tests.concurrency import together
from tests.refusals import refused
from tests.sessions.said import positions, raws
from tests.sessions.test_runs import move


def test_a_branch_goes_on_from_where_it_left(who: Principal, session: Session) -> None:
    append_items(who=who, session_id=session.id, items=["1", "2", "3"])
    branch = branch_session(who=who, session_id=session.id, at=2)
    append_items(who=who, session_id=session.id, items=["b"], branch=branch.number)
    append_items(who=who, session_id=session.id, items=["4"])

    assert raws(who, session, branch.number) == ["1", "2", "b"]
    assert positions(who, session, branch.number) == [1, 2, 3]
    assert raws(who, session) == ["1", "2", "3", "4"]
    assert "session.branched" in kinds_of(who.tenant_id, session.id)


def test_what_the_origin_loses_stays_on_the_branch(
    who: Principal, session: Session
) -> None:
    append_items(who=who, session_id=session.id, items=["1", "2"])
    pop_item(who=who, place=Place(session_id=session.id))
    append_items(who=who, session_id=session.id, items=["3"])
    branch = branch_session(who=who, session_id=session.id)
    clear_items(who=who, place=Place(session_id=session.id))

    assert raws(who, session, branch.number) == ["1", "3"]
    assert raws(who, session) == []


def test_a_position_that_is_not_said_any_more_is_no_place_to_branch(
    who: Principal, session: Session
) -> None:
    append_items(who=who, session_id=session.id, items=["1", "2"])
    pop_item(who=who, place=Place(session_id=session.id))
    for options in ({"at": 2}, {"at": 9}, {"origin": 1}):
        with refused("not_found", status=404):
            branch_session(who=who, session_id=session.id, **options)
    assert branch_session(who=who, session_id=session.id, at=0).at == 0


def test_a_branch_that_is_not_there_inherits_no_less(session: Session) -> None:
    with tenant_transaction(session.tenant_id), refused("lost_race", status=409):
        branches.take_less(session, 1, [])


def test_strangers_begin_no_branch(
    session: Session, strangers: dict[str, Principal]
) -> None:
    for stranger in strangers.values():
        with refused("not_found", status=404):
            branch_session(who=stranger, session_id=session.id)


def test_one_live_run_is_on_a_branch(
    who: Principal, session: Session, run: Run
) -> None:
    assert run.branch == 0
    with refused("branch_held", status=409):
        start_run(who=who, session_id=session.id, branch=0)
    complete_run(who=who, run_id=run.id, fence=run.fence)
    again, _ = start_run(who=who, session_id=session.id, branch=0)
    assert again.branch == 0


def test_a_further_turn_branches_by_itself(
    who: Principal, session: Session, run: Run
) -> None:
    append_items(who=who, session_id=session.id, items=["1"])
    move(who, run, "paused")
    other, _ = start_run(who=who, session_id=session.id)
    add = partial(append_items, who=who, session_id=session.id, run_id=other.id)
    add(items=["2"], fence=other.fence)

    assert other.branch == 1
    assert raws(who, session, 1) == ["1", "2"]
    assert raws(who, session) == ["1"]
    with refused("not_found", status=404, pointer="/branch"):
        add(items=["3"], fence=other.fence, branch=0)


def test_of_eight_that_start_at_once_each_has_a_branch(
    who: Principal, session: Session
) -> None:
    started = together(*[partial(start_run, who=who, session_id=session.id)] * 8)
    runs = [one[0] for one in started if not isinstance(one, Exception)]
    assert sorted(run.branch for run in runs) == list(range(8))


def test_a_run_from_before_there_were_branches_is_on_the_trunk(
    who: Principal, session: Session, run: Run
) -> None:
    tamper("agent_sessions_run", "branch = null", run.id)
    second, _ = start_run(who=who, session_id=session.id)
    assert second.branch == 1
    with refused("branch_held", status=409):
        start_run(who=who, session_id=session.id, branch=0)
    line = Place(session_id=session.id, run_id=run.id, fence=1)
    append_items(who=who, session_id=session.id, items=["1"], run_id=run.id, fence=1)
    assert pop_item(who=who, place=line) is not None


def test_the_database_lets_no_second_live_run_onto_a_branch(
    who: Principal, session: Session, run: Run
) -> None:
    with (
        pytest.raises(IntegrityError, match="run_alone_on_its_branch"),
        tenant_transaction(who.tenant_id),
    ):
        Run.objects.create(
            tenant_id=who.tenant_id,
            session=session,
            agent_id=who.agent_id,
            workflow_id=run.workflow_id,
            branch=0,
        )


class Model:
    """The plain lists that branches must behave like."""

    def __init__(self) -> None:
        self.lines: dict[int, list[str]] = {0: []}


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["append", "pop", "clear", "replace", "branch"]),
        st.integers(0, 5),
        st.integers(0, 5),
    ),
    max_size=14,
)


def test_branches_are_lists_of_their_own(who: Principal) -> None:
    """Whatever is done in whatever order, no branch notices what others do."""

    @settings(max_examples=15, deadline=None)
    @given(STEPS)
    def walk(steps: list[tuple[str, int, int]]) -> None:
        session, model = open_session(who=who, subject="customer-7"), Model()
        for step, (what, pick, where) in enumerate(steps):
            branch = pick % len(model.lines)
            act(who, session, model, what, branch, where, str(step))
        for branch, line in model.lines.items():
            assert raws(who, session, branch) == line
            at = positions(who, session, branch)
            assert at == sorted(set(at))

    walk()


def act(
    who: Principal,
    session: Session,
    model: Model,
    what: str,
    branch: int,
    where: int,
    text: str,
) -> None:
    line = model.lines[branch]
    place = Place(session_id=session.id, branch=branch)
    match what:
        case "append":
            append_items(
                who=who, session_id=session.id, items=[text] * 2, branch=branch
            )
            line += [text] * 2
        case "pop":
            popped = pop_item(who=who, place=place)
            assert (popped is None) == (not line)
            del line[-1:]
        case "clear":
            clear_items(who=who, place=place)
            line.clear()
        case "replace":
            replace_items(who=who, place=place, items=[text])
            line[:] = [text]
        case "branch":
            taken = line[: where % (len(line) + 1)]
            at = positions(who, session, branch)[len(taken) - 1] if taken else 0
            made = branch_session(who=who, session_id=session.id, origin=branch, at=at)
            model.lines[made.number] = list(taken)


def test_branches_of_branches_end_somewhere(
    who: Principal, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(branches, "DEEPEST", 2)
    one = branch_session(who=who, session_id=session.id).number
    two = branch_session(who=who, session_id=session.id, origin=one).number
    with refused("too_many_branches", status=409):
        branch_session(who=who, session_id=session.id, origin=two)
    monkeypatch.setattr(branches, "MOST_BRANCHES", 3)
    branch_session(who=who, session_id=session.id)
    with refused("too_many_branches", status=409):
        branch_session(who=who, session_id=session.id)
