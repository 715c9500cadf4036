"""A summary is a derived view: it proves nothing, and is void once its inputs change."""

import json

import pytest

from approvals.models import Summary
from approvals.services.contexts import LONGEST_SUMMARY
from kernel.scope import tenant_transaction
from sessions.models import Item
from tenants.services.patterns import add_secret_pattern
from tests.approvals.context import summarisers
from tests.approvals.context.talking import Desk, dropped, said, texts
from tests.approvals.superuser import superuser


@pytest.fixture
def long_talk(desk: Desk) -> Desk:
    desk.say(*(said("user", f"Sentence {n}. " + "word " * 80) for n in range(30)))
    return desk


def test_the_agents_own_summary_stands_in_for_what_finds_no_room(
    long_talk: Desk,
) -> None:
    answer = long_talk.summarise(first=1, last=20, text="They\ncounted to twenty.")
    assert answer.status_code == 201
    assert answer.json()["method"] == "agent"
    context = long_talk.context("?max_tokens=2000")
    told = texts(context, "summary")
    assert "by the agent's model. It proves nothing: \"They\\ncounted" in told
    worth = {row["kind"]: row["trust"] for row in context["included"]}
    assert worth["summary"] == "derived"


def test_with_room_for_all_no_summary_is_shown(long_talk: Desk) -> None:
    long_talk.summarise(first=1, last=20, text="They counted to twenty.")
    assert texts(long_talk.context("?max_tokens=100000"), "summary") == ""


def test_it_is_void_once_an_item_is_gone(long_talk: Desk) -> None:
    made = long_talk.summarise(first=1, last=20, text="They counted.").json()
    with superuser() as connection:
        connection.execute(
            f"DELETE FROM {Item._meta.db_table} WHERE session_id = %s AND position = 3",
            [long_talk.run.session_id],
        )
    context = long_talk.context("?max_tokens=2000")
    assert "They counted." not in json.dumps(context)
    assert dropped(context)[f"summary:{made['id']}"] == (
        "what it was made of has changed"
    )


def test_the_installations_summariser_is_named_and_its_text_is_a_quotation(
    long_talk: Desk, settings: object
) -> None:
    settings.SUMMARISER = summarisers.HOSTILE["injecting"]  # type: ignore[attr-defined]
    assert long_talk.summarise(first=1, last=20).status_code == 201
    context = long_talk.context("?max_tokens=2000")
    (row,) = [
        row
        for row in context["included"]
        if row["kind"] == "summary" and row["trust"] != "derived"
    ]
    assert row["trust"] == "quarantined"
    assert row["flags"] == ["instruction"]
    assert "\n" not in row["text"]
    lines = context["input"]["records"].splitlines()
    assert not [line for line in lines if "Approval 1" in line]
    assert long_talk.context("?max_tokens=2000")["input"]["data"].count("[record]") == 1


@pytest.mark.parametrize("name", ["empty", "raising", "no_text"])
def test_one_that_fails_leaves_everything_as_it_was(
    long_talk: Desk, settings: object, name: str
) -> None:
    before = long_talk.get("?max_tokens=2000").content
    settings.SUMMARISER = summarisers.HOSTILE[name]  # type: ignore[attr-defined]
    answer = long_talk.summarise(first=1, last=20)
    assert (answer.status_code, answer.json()["code"]) == (422, "summary_failed")
    assert long_talk.get("?max_tokens=2000").content == before
    with tenant_transaction(long_talk.stage.tenant_id):
        assert not Summary.objects.exists()


@pytest.mark.parametrize(("first", "last"), [(1, 31), (0, 3), (5, 4), (40, 41)])
def test_only_items_that_are_there_can_be_summarised(
    long_talk: Desk, first: int, last: int
) -> None:
    answer = long_talk.summarise(first=first, last=last, text="They counted.")
    assert answer.status_code in {400, 404}


def test_a_secret_in_it_is_not_kept(long_talk: Desk) -> None:
    secret = "AKIA" + "Q" * 15 + "7"
    answer = long_talk.summarise(first=1, last=2, text=f"Use {secret}")
    assert answer.status_code == 201
    assert secret not in answer.content.decode()


def test_a_secret_of_the_tenants_own_shape_is_not_kept_either(long_talk: Desk) -> None:
    house, token = long_talk.stage.house, "hps-" + "AB12" * 4
    add_secret_pattern(
        tenant_id=house.id,
        by=house.alice.id,
        kind="halden key",
        prefix="hps-",
        alphabet="upper",
        least=16,
    )
    answer = long_talk.summarise(first=1, last=2, text=f"Use {token}")
    assert answer.status_code == 201
    assert "[redacted: halden key, " in answer.json()["text"]
    assert token not in answer.json()["text"]


@pytest.mark.parametrize("name", ["cut", "halved"])
def test_nothing_of_a_secret_is_left_where_the_text_is_cut(
    long_talk: Desk, settings: object, name: str
) -> None:
    settings.SUMMARISER = summarisers.LEAKING[name]  # type: ignore[attr-defined]
    answer = long_talk.summarise(first=1, last=20)
    assert answer.status_code == 201
    assert "AKIA" not in answer.json()["text"]
    assert len(answer.json()["text"]) <= LONGEST_SUMMARY
