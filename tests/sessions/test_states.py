"""The run's state machine is DESIGN's, whatever order the moves are tried in."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernel.problems import Problem
from kernel.scope import tenant_transaction
from sessions.models import Run, Session, Transition
from sessions.runs import lock_run, move_run
from sessions.services import start_run
from tenants.principal import Principal
from tenants.verbs import Verb, perform

# Said once more, in other words than the code's, so that they must agree.
ALLOWED = {
    "running": "paused completed failed cancelled needs_attention",
    "paused": "resuming running cancelled failed",
    "resuming": "running paused needs_attention failed cancelled",
    "needs_attention": "resuming completed failed cancelled",
    "completed": "",
    "failed": "",
    "cancelled": "",
}
STATES = tuple(ALLOWED)


def test_the_table_is_complete() -> None:
    assert set(ALLOWED) == set(Run.State.values)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(moves=st.lists(st.sampled_from(STATES), min_size=1, max_size=8))
def test_only_these_moves_happen_and_each_leaves_its_row(
    who: Principal, session: Session, moves: list[str]
) -> None:
    run, _ = start_run(who=who, session_id=session.id)
    expected = ["running"]
    for to in moves:
        if to in ALLOWED[expected[-1]].split():
            attempt(who, run, to)
            expected.append(to)
        else:
            with pytest.raises(Problem) as problem:
                attempt(who, run, to)
            ended = not ALLOWED[expected[-1]]
            assert problem.value.code == ("run_ended" if ended else "wrong_state")
    with tenant_transaction(who.tenant_id):
        stored = Run.objects.get(id=run.id)
        rows = Transition.objects.filter(run_id=run.id).order_by("seq")
        assert list(rows.values_list("to_state", flat=True)) == expected
    assert stored.state == expected[-1]
    assert (stored.ended_at is not None) == (not ALLOWED[stored.state])


def attempt(who: Principal, run: Run, to: str) -> None:
    def work(verb: Verb) -> None:
        move_run(verb, lock_run(run.id), to, actor=who.actor)

    perform(who.tenant_id, work)
