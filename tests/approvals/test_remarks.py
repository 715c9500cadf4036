"""What people do about a request besides deciding: comments, and being on it."""

from collections.abc import Callable
from hashlib import sha256
from typing import Any

import pytest

from approvals.models import Comment, Request
from approvals.services.erasure import erase_session, purge_step
from approvals.services.remarks import (
    GIVEN_FOR,
    LONGEST,
    TAKEN_FOR,
    assign,
    comment,
    release,
    take,
)
from audit.models import Entry
from kernel.clock import database_now
from kernel.scope import tenant_transaction
from tenants.models import Role
from tests.approvals.stage import Stage, fresh_stage
from tests.approvals.superuser import superuser
from tests.concurrency import together
from tests.factories import Somebody, fresh_member
from tests.refusals import refused


@pytest.fixture
def stage() -> Stage:
    return fresh_stage()


def say(stage: Stage, request: Request, text: str, by: Somebody | None = None) -> None:
    comment((by or stage.bob).person, request_id=request.id, text=text)


def comments(stage: Stage) -> list[str]:
    with tenant_transaction(stage.tenant_id):
        return list(
            Comment.objects.order_by("created_at").values_list("text", flat=True)
        )


def entries(stage: Stage, kind: str) -> list[Entry]:
    with tenant_transaction(stage.tenant_id):
        rows = Entry.objects.filter(tenant_id=stage.tenant_id, kind=kind)
        return list(rows.order_by("seq"))


def test_a_comment_decides_nothing_and_is_on_the_chain_by_its_digest(
    stage: Stage,
) -> None:
    request = stage.ask()
    say(stage, request, "  Is this the October invoice?\n")
    assert comments(stage) == ["Is this the October invoice?"]
    assert stage.fresh(request).state == "pending"
    entry = entries(stage, "comment.recorded")[-1]
    assert entry.actor_id == str(stage.bob.member.id)
    assert entry.data["request"] == str(request.id)
    assert "October" not in str(entry.data)
    plain = sha256(b"Is this the October invoice?").hexdigest()
    assert plain not in str(entry.data)  # nobody finds it by trying guesses


def test_what_is_said_twice_in_a_session_is_known_as_such_by_its_key_alone(
    stage: Stage,
) -> None:
    first, second = stage.ask(), stage.ask()
    for request in (first, first, second):
        say(stage, request, "Yes.")
    once, again, elsewhere = (
        one.data["text"] for one in entries(stage, "comment.recorded")
    )
    assert once == again != elsewhere


@pytest.mark.parametrize("text", ["", "  \n", "x" * (LONGEST + 1), "a\0b"])
def test_a_comment_has_something_to_say_and_an_end(stage: Stage, text: str) -> None:
    request = stage.ask()
    with refused("comment_invalid", status=422):
        say(stage, request, text)
    assert comments(stage) == []


def test_the_longest_comment_is_kept_whole(stage: Stage) -> None:
    say(stage, stage.ask(), "é" * LONGEST)
    assert comments(stage) == ["é" * LONGEST]


def test_a_secret_is_cut_out(stage: Stage) -> None:
    say(stage, stage.ask(), "It logs in with AKIAQYLPMN5HFIQR7XYA, see?")
    assert "AKIAQYLPMN5HFIQR7XYA" not in comments(stage)[0]


def test_what_is_decided_can_be_spoken_of(stage: Stage) -> None:
    request = stage.ask()
    stage.answer(request)
    say(stage, request, "Good that we waited.")
    assert len(comments(stage)) == 1


VERBS: dict[str, Callable[[Somebody, Request], Any]] = {
    "comment": lambda who, one: comment(who.person, request_id=one.id, text="Hm."),
    "take": lambda who, one: take(who.person, request_id=one.id),
    "release": lambda who, one: release(who.person, request_id=one.id),
}


@pytest.mark.parametrize("verb", VERBS)
def test_who_does_not_see_the_queue_finds_nothing(stage: Stage, verb: str) -> None:
    request = stage.ask()
    strangers = (
        fresh_member(stage.house.alice, "Olga"),
        stage.house.charlie,
        fresh_stage().bob,
    )
    for stranger in strangers:
        with refused("not_found", status=404):
            VERBS[verb](stranger, request)
    assert comments(stage) == []
    assert stage.fresh(request).taken_by_id is None


@pytest.mark.parametrize("verb", ["take", "release"])
def test_an_auditor_reads_and_comments_and_takes_nothing(
    stage: Stage, verb: str
) -> None:
    request = stage.ask()
    auditor = fresh_member(stage.house.alice, "Dora", role=Role.AUDITOR)
    say(stage, request, "Why so late?", auditor)
    with refused("not_permitted", status=403):
        VERBS[verb](auditor, request)


def test_comments_go_with_their_session(stage: Stage) -> None:
    request = stage.ask()
    say(stage, request, "About Ingrid Moe.")
    say(stage, stage.ask(), "About somebody else.")
    session = request.session_id
    by = stage.house.alice.id
    erase_session(tenant_id=stage.tenant_id, by=by, session_id=session)
    with refused("data_erased", status=410):
        say(stage, request, "About Ingrid Moe again.")
    while purge_step(stage.tenant_id, session):
        pass
    assert comments(stage) == ["About somebody else."]


def test_a_comment_is_never_changed_nor_taken_back(stage: Stage) -> None:
    from django.db import ProgrammingError

    say(stage, stage.ask(), "Hm.")
    for act in (lambda rows: rows.update(text="Ha."), lambda rows: rows.delete()):
        with pytest.raises(ProgrammingError), tenant_transaction(stage.tenant_id):
            act(Comment.objects.all())


def test_being_on_it_is_known_for_a_quarter_of_an_hour(stage: Stage) -> None:
    request = stage.ask()
    take(stage.bob.person, request_id=request.id)
    now = stage.fresh(request)
    assert now.taken_by_id == stage.bob.member.id
    with tenant_transaction(stage.tenant_id):
        left = now.taken_until - database_now()
    assert 0 < left.total_seconds() <= TAKEN_FOR.total_seconds()
    assert entries(stage, "request.taken")[-1].actor_id == str(stage.bob.member.id)


def test_two_are_not_on_it_and_both_may_decide(stage: Stage) -> None:
    request, carol = stage.ask(), stage.reviewer()
    take(stage.bob.person, request_id=request.id)
    with refused("taken", status=409, detail="Bob is on it."):
        take(carol.person, request_id=request.id)
    take(stage.bob.person, request_id=request.id)  # he stays on it
    stage.answer(request, carol)
    assert stage.fresh(request).state == "approved"
    with refused("already_decided", status=409):
        take(carol.person, request_id=request.id)


def test_of_two_at_once_one_is_on_it(stage: Stage) -> None:
    request, people = stage.ask(), (stage.bob, stage.reviewer())
    came = together(
        *(lambda who=who: take(who.person, request_id=request.id) for who in people)
    )
    assert sorted(isinstance(one, Exception) for one in came) == [False, True]
    assert len(entries(stage, "request.taken")) == 1


def test_time_ends_it(stage: Stage) -> None:
    request, carol = stage.ask(), stage.reviewer()
    take(stage.bob.person, request_id=request.id)
    with superuser() as connection:
        connection.execute(
            "UPDATE approvals_request SET taken_until = clock_timestamp() WHERE id = %s",
            [request.id],
        )
    take(carol.person, request_id=request.id)
    assert stage.fresh(request).taken_by_id == carol.member.id


def test_only_who_is_on_it_lets_go(stage: Stage) -> None:
    request, carol = stage.ask(), stage.reviewer()
    take(stage.bob.person, request_id=request.id)
    release(carol.person, request_id=request.id)
    assert stage.fresh(request).taken_by_id == stage.bob.member.id
    assert entries(stage, "request.released") == []
    release(stage.bob.person, request_id=request.id)
    assert stage.fresh(request).taken_by_id is None
    assert len(entries(stage, "request.released")) == 1


def test_no_agent_is_told(stage: Stage) -> None:
    request = stage.ask()
    client = stage.house.robot.client()
    path = f"/api/v1/approvals/{request.id}"
    before = client.get(path)
    say(stage, request, "A word among ourselves.")
    take(stage.bob.person, request_id=request.id)
    after = client.get(path)
    assert after.content == before.content
    assert after.headers["ETag"] == before.headers["ETag"]


def test_it_is_given_to_somebody_who_decides_there(stage: Stage) -> None:
    request, carol = stage.ask(), stage.reviewer()
    take(stage.bob.person, request_id=request.id)
    assign(stage.bob.person, request_id=request.id, to=carol.member.id)
    now = stage.fresh(request)
    assert now.taken_by_id == carol.member.id
    with tenant_transaction(stage.tenant_id):
        left = now.taken_until - database_now()
    assert TAKEN_FOR < left <= GIVEN_FOR
    entry = entries(stage, "request.assigned")[-1]
    assert entry.actor_id == str(stage.bob.member.id)
    assert entry.data == {"to": str(carol.member.id)}


def test_it_is_given_to_nobody_who_could_not_decide(stage: Stage) -> None:
    request = stage.ask()
    blind = fresh_member(stage.house.alice, "Dora")
    stranger = fresh_stage().bob
    for one in (blind.member.id, stranger.member.id, request.id):
        with refused("cannot_be_given", status=422):
            assign(stage.bob.person, request_id=request.id, to=one)
    assert stage.fresh(request).taken_by_id is None
    assert entries(stage, "request.assigned") == []


def test_what_somebody_is_on_is_not_given_away(stage: Stage) -> None:
    request, carol, dora = stage.ask(), stage.reviewer(), stage.reviewer("Dora")
    take(carol.person, request_id=request.id)
    with refused("taken", status=409):
        assign(stage.bob.person, request_id=request.id, to=dora.member.id)
    assert stage.fresh(request).taken_by_id == carol.member.id


def test_only_who_decides_gives(stage: Stage) -> None:
    request = stage.ask()
    auditor = fresh_member(stage.house.alice, "Dora", role=Role.AUDITOR)
    with refused("not_permitted", status=403):
        assign(auditor.person, request_id=request.id, to=stage.bob.member.id)
    blind = fresh_member(stage.house.alice, "Emil")
    with refused("not_found", status=404):
        assign(blind.person, request_id=request.id, to=stage.bob.member.id)
