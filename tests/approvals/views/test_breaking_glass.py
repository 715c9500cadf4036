"""Breaking the glass in the browser: for those who may, in two steps, and seen by all."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import cache

from approvals.models import Request
from tests.approvals.glass_stage import WHY, GlassStage, give, glass_stage
from tests.approvals.views.browsing import Reader, reader
from tests.factories import fresh_member
from tests.tenants.second_factors import PASSWORD, with_password


@pytest.fixture(scope="module")
def stage() -> GlassStage:
    return glass_stage()


@pytest.fixture(autouse=True)
def _no_former_tries() -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


@pytest.fixture
def dave(stage: GlassStage) -> Reader:
    """Whose sign-in is as old as the session of a test: it proves nothing."""
    with_password(stage.dave.user)
    return reader(stage, stage.dave)


@pytest.fixture
def asked(stage: GlassStage) -> Request:
    return stage.ask()


def place(request: Request) -> str:
    return f"requests/{request.id}/break-glass"


def said(stage: GlassStage, request: Request, **more: str) -> dict[str, str]:
    return {"reason": WHY, "digest": stage.digest(request).hex(), **more}


def test_the_way_is_shown_to_those_who_may_alone(
    stage: GlassStage, dave: Reader, asked: Request
) -> None:
    assert dave.case(asked.id).glass_href.endswith(place(asked))
    for other in (stage.bob, stage.house.alice):
        there = reader(stage, other)
        assert there.case(asked.id).glass_href == ""
        assert "Break the glass" not in there.get(f"queue/{asked.id}").content.decode()
        assert there.get(place(asked)).status_code == 403
        assert (
            there.post(place(asked), said(stage, asked, confirm="1")).status_code == 403
        )
    assert stage.broken(asked) == 0


def test_nothing_is_broken_before_the_second_step(
    stage: GlassStage, dave: Reader, asked: Request
) -> None:
    first = dave.get(place(asked))
    assert not first.context["glass"].confirming
    empty = dave.post(place(asked), said(stage, asked, reason=" "))
    assert (empty.status_code, list(empty.context["glass"].errors)) == (422, ["reason"])
    second = dave.post(place(asked), said(stage, asked))
    assert second.status_code == 200
    assert second.context["glass"].confirming
    assert second.context["glass"].proof.field == "password"
    assert WHY in second.content.decode()
    assert stage.broken(asked) == 0


def test_the_second_step_asks_who_it_is(
    stage: GlassStage, dave: Reader, asked: Request
) -> None:
    confirmed = said(stage, asked, confirm="1")
    unproved = dave.post(place(asked), confirmed)
    assert (unproved.status_code, errors(unproved)) == (403, ["password"])
    wrong = dave.post(place(asked), {**confirmed, "password": "wrong"})
    assert (wrong.status_code, errors(wrong)) == (422, ["password"])
    assert wrong.context["glass"].reason == WHY
    assert stage.broken(asked) == 0
    done = dave.post(place(asked), {**confirmed, "password": PASSWORD})
    assert done.status_code == 303
    assert stage.fresh(asked).state == Request.State.APPROVED
    assert stage.breaking(asked).authentication["methods"] == ["password"]


def test_what_changed_meanwhile_is_read_again(
    stage: GlassStage, dave: Reader, asked: Request
) -> None:
    other = said(stage, asked, confirm="1", digest="0" * 64, password=PASSWORD)
    again = dave.post(place(asked), other)
    assert again.status_code == 409
    shown = again.context["glass"]
    assert (shown.confirming, list(shown.errors), shown.reason) == (False, [""], WHY)
    assert stage.broken(asked) == 0


def test_a_broken_glass_is_seen_until_a_second_person_has_looked_into_it() -> None:
    stage = glass_stage()
    asked = stage.ask()
    alice, bob = reader(stage, stage.house.alice), reader(stage)
    assert alice.get("queue").context["shell"].alarm is None
    stage.smash(asked)
    for page in ("queue", "audit", "agents"):
        alarm = alice.get(page).context["shell"].alarm
        assert alarm.title == "1 broken glass to look into"
        assert alarm.title in alice.get(page).content.decode()
    assert bob.get("queue").context["shell"].alarm == alarm
    case = bob.case(asked.id)
    assert case.broken is not None
    assert "broke the glass" in case.broken.title
    assert [row.broke_glass for row in case.decisions] == [True]
    assert any("broke the glass" in entry.text for entry in case.timeline)
    listed = bob.get("broken-glass").context["broken"]
    assert (listed.open, [row.why_not for row in listed.rows]) == (1, [""])
    owner = alice.get("broken-glass").context["broken"].rows[0]
    assert owner.why_not == "You are on the side that asked."
    look(stage, bob, asked)
    assert alice.get("queue").context["shell"].alarm is None
    assert bob.get("broken-glass").context["broken"].open == 0
    assert "objects" in bob.case(asked.id).broken.sentence


def test_only_who_may_look_into_it_is_led_there() -> None:
    stage = glass_stage()
    eve, vera, nora = (
        fresh_member(stage.house.alice, name) for name in ("Eve", "Vera", "Nora")
    )
    give(stage, eve, "view", "break_glass")
    give(stage, vera, "view")
    give(stage, nora, "decide")
    stage.smash(stage.ask(), eve)
    own, sees, blind = (
        reader(stage, one).get("queue").context["shell"].alarm
        for one in (eve, vera, nora)
    )
    assert (own, sees, blind) == (None, None, None)
    stage.smash(stage.ask())
    alarm = reader(stage, eve).get("queue").context["shell"].alarm
    assert alarm.title == "1 broken glass to look into"
    assert reader(stage).get("queue").context["shell"].alarm.title[:2] == "2 "


def look(stage: GlassStage, bob: Reader, asked: Request) -> None:
    """Bob objects: first without words, which is shown beside the field."""
    place = f"broken-glass/{stage.breaking(asked).id}"
    bare = bob.post(place, {"review": "objected", "words": ""})
    assert (bare.status_code, list(bare.context["review"].errors)) == (422, ["words"])
    assert bare.context["review"].typed["review"] == "objected"
    told = bob.post(place, {"review": "objected", "words": "It could have waited."})
    assert told.status_code == 302
    assert "objects" in bob.get(place).content.decode()
    again = bob.post(place, {"review": "acknowledged", "words": "No: fine."})
    assert again.status_code == 409
    assert "Somebody has looked into this already" in again.content.decode()


def test_a_glass_on_a_queue_that_is_not_seen_is_not_there() -> None:
    stage = glass_stage()
    asked = stage.ask()
    stage.smash(asked)
    place = f"broken-glass/{stage.breaking(asked).id}"
    blind = reader(stage, fresh_member(stage.house.alice, "Dora"))
    assert blind.get("broken-glass").context["broken"].rows == ()
    assert blind.get(place).status_code == 404
    form = {"review": "acknowledged", "words": "Fine."}
    assert blind.post(place, form).status_code == 404
    assert stage.breaking(asked).review == ""


def errors(answer: Any) -> list[str]:
    return list(answer.context["glass"].errors)
