"""Sessions and whom they serve: one owner, one subject."""

import pytest

from kernel.problems import Problem
from sessions.models import Session
from sessions.services import append_items, open_session
from tenants.principal import Principal
from tests.chain import kinds_of
from tests.concurrency import together
from tests.refusals import refused
from tests.sessions.said import raws


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
