"""Who was shown a case: once for each person and revision, and not in the log."""

import re
from datetime import timedelta

import pytest

from approvals.models import Decision, Sight
from audit.models import Entry
from kernel.clock import database_now
from kernel.scope import tenant_transaction
from tests.approvals.stage import ARGUMENTS, Stage, fresh_stage
from tests.approvals.views.browsing import reader

V = Decision.Verdict


@pytest.fixture
def stage() -> Stage:
    return fresh_stage()


def sights(stage: Stage) -> list[Sight]:
    with tenant_transaction(stage.tenant_id):
        return list(Sight.objects.order_by("created_at"))


def test_the_first_look_of_each_person_is_kept(stage: Stage) -> None:
    request, bob = stage.ask(), reader(stage)
    carol = stage.reviewer("Carol")
    for _ in range(2):
        bob.case(request.id)
        reader(stage, carol).case(request.id)
    assert [one.member_id for one in sights(stage)] == [stage.bob.id, carol.id]
    said = [entry.text for entry in bob.case(request.id).timeline]
    assert f"{stage.bob.user} opened revision 1" in said


def test_ones_own_look_is_no_news_to_oneself(stage: Stage) -> None:
    request, bob = stage.ask(), reader(stage)
    carol = reader(stage, stage.reviewer("Carol"))
    carol.case(request.id)
    pages = [who.get(f"queue/{request.id}") for who in (carol, bob, bob)]
    news = [re.findall('data-news="([^"]+)', one.content.decode()) for one in pages]
    assert [[said[:5] for said in told] for told in news] == [[], ["Carol"], []]


def test_a_new_revision_is_seen_anew(stage: Stage) -> None:
    request, bob = stage.ask(), reader(stage)
    bob.case(request.id)
    arguments = {**ARGUMENTS, "amount": "9.00"}
    by = stage.reviewer("Carol")
    stage.answer(request, by, verdict=V.EDIT, arguments=arguments, reason="Less.")
    bob.case(request.id)
    assert len(sights(stage)) == 2


def test_what_is_shown_together_is_seen_and_what_is_refused_there_is_not(
    stage: Stage,
) -> None:
    shown, decided = stage.ask(), stage.ask()
    stage.answer(decided)
    picks = f"pick={shown.id}&pick={decided.id}"
    for _ in range(2):
        reader(stage).get(f"together?verdict=reject&{picks}")
    assert [one.request_id for one in sights(stage)] == [shown.id]


def test_the_last_look_is_kept_to_the_minute(stage: Stage) -> None:
    request, bob = stage.ask(), reader(stage)
    bob.case(request.id)
    bob.case(request.id)
    (first,) = sights(stage)
    with tenant_transaction(stage.tenant_id):
        Sight.objects.update(last_at=database_now() - timedelta(minutes=2))
    bob.case(request.id)
    (later,) = sights(stage)
    assert first.last_at < later.last_at
    assert first.created_at == later.created_at


def test_looking_is_no_entry_of_the_log_and_the_list_is_no_look(stage: Stage) -> None:
    request, bob = stage.ask(), reader(stage)
    bob.queue()
    assert sights(stage) == []
    with tenant_transaction(stage.tenant_id):
        before = Entry.objects.count()
    bob.case(request.id)
    with tenant_transaction(stage.tenant_id):
        assert Entry.objects.count() == before
