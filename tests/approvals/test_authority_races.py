"""The world changes while the action waits: whichever commits first is what counts.

Each change has done its work and not committed; the action comes and waits for its locks;
then the change commits. The action must find what has changed, and not what was.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread, get_ident

import pytest
from django.db import connection

from tenants import verbs
from tenants.verbs import Verb
from tests.approvals.changes import (
    CHANGES,
    Approved,
    change_definition,
    change_fact,
    deactivate,
    deny,
    leave_group,
    remove_right,
    revoke_it,
    revoke_the_key,
    stop_everything,
    switch_agent_off,
    switch_tool_off,
    tighten,
)
from tests.approvals.superuser import superuser
from tests.approvals.test_authority import DOORS, approved, observed
from tests.approvals.tool_server import ToolServer
from tests.examples.waiting import wait_until

CODES = {make: {code} for make, code, _ in CHANGES.values()}
BY_VERBS: dict[Callable[[Approved], None], set[str]] = {
    **{
        make: CODES[make]
        for make in (
            tighten,
            deny,
            remove_right,
            leave_group,
            deactivate,
            change_definition,
            switch_tool_off,
            switch_agent_off,
            revoke_the_key,
            stop_everything,
            change_fact,
        )
    },
    revoke_it: {"not_due", "not_approved"},
}


@contextmanager
def held_before_commit(act: Callable[[], None]) -> Iterator[None]:
    """`act` is about to commit; it does so once somebody waits for a lock of its own."""
    ready, who = Event(), []
    former = list(verbs._tellings)

    def hold(verb: Verb) -> None:
        if get_ident() not in who:
            for tell in former:
                tell(verb)
            return
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            (pid,) = cursor.fetchone()
        ready.set()
        wait_until(lambda: _waits_for(pid))

    def run() -> None:
        who.append(get_ident())
        try:
            act()
        finally:
            ready.set()
            connection.close()

    thread = Thread(target=run)
    verbs.register_telling(hold)
    try:
        thread.start()
        assert ready.wait(timeout=30)
        yield
        thread.join(timeout=30)
        assert not thread.is_alive()
    finally:
        verbs._tellings[:] = former


def _waits_for(pid: int) -> bool:
    with superuser() as eye:
        found = eye.execute(
            "SELECT 1 FROM pg_stat_activity WHERE %s = ANY(pg_blocking_pids(pid))",
            [pid],
        ).fetchone()
    return found is not None


def race(change: Callable[[Approved], None], door: str, server: ToolServer) -> None:
    mode, act_through = DOORS[door]
    case = approved(mode, server)
    with held_before_commit(lambda: change(case)):
        assert act_through(case) in BY_VERBS[change]
    assert server.calls() == 0
    if change is not revoke_it:
        seen = observed(case)
        assert seen["effects"] == 0
        assert seen["audited"]


@pytest.mark.parametrize("door", ["worker", "redeem"])
@pytest.mark.parametrize("change", [tighten, deactivate, revoke_it, change_fact])
def test_a_change_that_commits_first_stops_the_action(
    change: Callable[[Approved], None], door: str, tool_server: ToolServer
) -> None:
    race(change, door, tool_server)


@pytest.mark.long
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("change", BY_VERBS)
def test_every_change_that_commits_first_stops_the_action(
    change: Callable[[Approved], None], door: str, tool_server: ToolServer
) -> None:
    race(change, door, tool_server)
