"""The next case is drawn beforehand, and shown only as it would be drawn then."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from approvals.models import Decision, Request, Sight
from approvals.pages import drawn
from approvals.services.remarks import comment
from kernel.scope import tenant_transaction
from tests.approvals.stage import ARGUMENTS, Stage, fresh_stage
from tests.approvals.test_authority_races import held_before_commit
from tests.approvals.views.browsing import Reader, reader
from tests.approvals.views.test_onward import (
    BOOSTED,
    HIDDEN,
    asked,
    lose,
    with_another_queue,
)

V = Decision.Verdict
PART = {"HX-Request": "true", "HX-Target": "case"}
# Of each drawing its own: tokens of forms, what a clock says, and who has looked by then.
OWN = re.compile(
    r'name="csrfmiddlewaretoken" value="[^"]+"'
    r"| \(<time[^>]*>[^<]*</time>\)|<time[^>]*>[^<]*</time>"
    r'|<ol class="timeline".*?</ol>',
    re.DOTALL,
)
MARKED = re.compile(
    r' data-mark="(?P<mark>[^"]+)" data-after="(?P<after>[^"]+)"'
    r' data-verdict="(?P<verdict>[^"]+)"'
)
UNDERWAY = re.compile(
    r'<div class="case__notice" id="earlier">.*?</div></div>\s*</div>', re.S
)


@dataclass(frozen=True)
class Held:
    """What the open page keeps of the next case."""

    mark: str
    text: str


def draw(
    bob: Reader, request: Request, query: str = "", becomes: str = "approved"
) -> Held:
    becomes = f"{'&' if query else '?'}becomes={becomes}"
    path = f"requests/{request.id}/ahead{query}{becomes}"
    response = bob.get(path, headers=PART)
    assert response.status_code == 200
    text = response.content.decode()
    marked = MARKED.search(text)
    assert marked is not None
    assert marked["after"] == str(request.id)
    assert marked["verdict"] == ("reject" if "rejected" in becomes else "approve")
    return Held(marked["mark"], text)


def answer(
    bob: Reader, request: Request, held: Held, query: str = "", **said: str
) -> Any:
    digest = bob.case(request.id).exact.digest
    form = {"verdict": "approve", "digest": digest, "onward": "1", **said}
    headers = {**BOOSTED, "Keyturn-Drawn": held.mark}
    path = f"requests/{request.id}/decide{query}"
    return bob.post(path, form, headers=headers)


def seen(stage: Stage, request: Request) -> list[UUID]:
    """By whom."""
    with tenant_transaction(stage.tenant_id):
        rows = Sight.objects.filter(request=request)
        return list(rows.values_list("member_id", flat=True))


def put_together(held: Held, response: Any) -> str:
    """What the open page does."""
    said = response.content.decode()
    assert 'id="case"' not in said
    assert "your answer is on its way" in held.text
    whole, places = UNDERWAY.subn(lambda _: said, MARKED.sub("", held.text))
    assert places == whole.count('id="earlier"') == 1
    return whole


LEADS = {"approve": "approved", "reject": "rejected"}


@pytest.mark.parametrize("query", ["", "?view=mine", "?sort=newest"])
@pytest.mark.parametrize(("verdict", "becomes"), LEADS.items())
def test_it_is_what_would_have_been_drawn(
    stage: Stage, verdict: str, becomes: str, query: str
) -> None:
    first, second, third = asked(stage)
    bob = reader(stage)
    towards = first if query == "?sort=newest" else third
    held = draw(bob, second, query, becomes)
    response = answer(bob, second, held, query, verdict=verdict, reason="So.")
    assert response.headers["Keyturn-Drawn"] == held.mark
    href = response.headers["HX-Push-Url"]
    assert f"/queue/{towards.id}?" in href
    now = bob.client.get(href, headers=PART).content.decode()
    assert str(towards.id) in now
    assert OWN.sub("", put_together(held, response)) == OWN.sub("", now)


def test_nobody_has_seen_it_before_it_is_shown(stage: Stage) -> None:
    first, second, _ = asked(stage)
    bob = reader(stage)
    held = draw(bob, first)
    assert seen(stage, second) == []
    assert "Keyturn-Drawn" in answer(bob, first, held).headers
    assert seen(stage, second) == [stage.bob.id]


def test_case_and_mark_are_of_one_moment(stage: Stage) -> None:
    """Or what changes between the two would be shown as it was."""
    first, _, _ = asked(stage)
    bob = reader(stage)
    with CaptureQueriesContext(connection) as captured:
        draw(bob, first)
    said = [one["sql"] for one in captured.captured_queries]
    assert any("REPEATABLE READ, READ ONLY" in sql for sql in said)


def revise(stage: Stage, request: Request) -> None:
    by = stage.reviewer("Emil")
    changed = {**ARGUMENTS, "amount": "9999.00"}
    stage.answer(request, by, verdict=V.EDIT, arguments=changed, reason="x")


def turn(stage: Stage, request: Request) -> None:
    stage.answer(request, stage.reviewer("Emil"))


CHANGES: dict[str, Callable[[Stage, Request], object]] = {
    "it asks for something else": revise,
    "another has answered": turn,
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_has_changed_is_drawn_anew(stage: Stage, change: str) -> None:
    stage.policy(rules=[{"approvals": 2}])
    first, second, _ = asked(stage)
    bob = reader(stage)
    held = draw(bob, first, becomes="rejected")
    CHANGES[change](stage, second)
    response = answer(bob, first, held, verdict="reject", reason="So.")
    assert "Keyturn-Drawn" not in response.headers
    assert response.context["case"].earlier is not None
    assert 'id="case"' in response.content.decode()


@pytest.mark.parametrize("becomes", ["approved", "pending"])
def test_a_key_of_several_leaves_the_request_in_the_list(
    stage: Stage, becomes: str
) -> None:
    stage.reviewer()
    stage.policy(rules=[{"approvals": 2}])
    first, _, _ = asked(stage)
    bob = reader(stage)
    response = answer(bob, first, draw(bob, first, becomes=becomes))
    assert ("Keyturn-Drawn" in response.headers) == (becomes == "pending")


def test_the_page_knows_what_an_answer_leads_to(stage: Stage) -> None:
    stage.policy(rules=[{"approvals": 2}])
    request, _, _ = asked(stage)
    bob = reader(stage)
    ahead = bob.case(request.id).desk.ahead
    assert ahead["approve"].endswith("becomes=pending")
    assert ahead["reject"].endswith("becomes=rejected")
    stage.answer(request, stage.reviewer())
    assert bob.case(request.id).desk.ahead["approve"].endswith("becomes=approved")


def test_what_needs_no_answer_any_more_is_passed_over(stage: Stage) -> None:
    first, second, third = asked(stage)
    bob = reader(stage)
    held = draw(bob, first)
    stage.answer(second, stage.reviewer())
    response = answer(bob, first, held)
    assert "Keyturn-Drawn" not in response.headers
    assert response.context["case"].id == str(third.id)


def test_with_nothing_left_ones_own_is_shown(stage: Stage) -> None:
    first, second = asked(stage, 2)
    bob = reader(stage)
    held = draw(bob, first)
    stage.answer(second, stage.reviewer())
    assert answer(bob, first, held).context["case"].id == str(first.id)


def test_another_measure_is_drawn_anew(stage: Stage) -> None:
    """What an agent was last allowed is what its next request is compared with."""
    first, second, _ = asked(stage)
    bob = reader(stage)
    held = draw(bob, first)  # as if it were approved
    response = answer(bob, first, held, verdict="reject", reason="So.")
    assert "Keyturn-Drawn" not in response.headers
    assert response.context["case"].id == str(second.id)


def test_what_was_drawn_long_ago_is_drawn_anew(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _, _ = asked(stage)
    bob = reader(stage)
    then = time.time() - drawn.LONGEST - 1
    with monkeypatch.context() as patched:
        patched.setattr(drawn.time, "time", lambda: then)
        held = draw(bob, first)
    assert "Keyturn-Drawn" not in answer(bob, first, held).headers


@pytest.mark.parametrize("mark", ["", "x", "1.", "9" * 400 + ".x", "٣.x", "-1.x"])
def test_a_made_up_mark_shows_nothing(stage: Stage, mark: str) -> None:
    first, second, _ = asked(stage)
    response = answer(reader(stage), first, Held(mark.encode().decode("latin-1"), ""))
    assert "Keyturn-Drawn" not in response.headers
    assert response.context["case"].id == str(second.id)


def test_another_persons_mark_shows_nothing(stage: Stage) -> None:
    first, _, _ = asked(stage)
    held = draw(reader(stage, stage.reviewer()), first)
    assert "Keyturn-Drawn" not in answer(reader(stage), first, held).headers


def test_what_goes_out_of_sight_while_the_answer_waits_is_not_shown(
    stage: Stage,
) -> None:
    other = with_another_queue(stage)
    first = stage.ask(decide_within=900)
    hidden = stage.ask(arguments=HIDDEN, decide_within=902)
    bob = reader(stage)
    held = draw(bob, first)
    assert str(hidden.id) in held.text
    with held_before_commit(lambda: lose(stage, other)):
        response = answer(bob, first, held)
    assert "Keyturn-Drawn" not in response.headers
    assert str(hidden.id) not in response.content.decode()
    assert seen(stage, hidden) == []


def test_a_refused_answer_shows_nothing_of_it(stage: Stage) -> None:
    first, second, _ = asked(stage)
    bob = reader(stage)
    response = answer(bob, first, draw(bob, first), digest="0" * 64)
    assert response.status_code == 409
    assert "Keyturn-Drawn" not in response.headers
    assert seen(stage, second) == []


def test_nothing_follows_the_last(stage: Stage) -> None:
    only = stage.ask()
    shown = reader(stage).get(f"requests/{only.id}/ahead", headers=PART)
    assert shown.status_code == 204


def test_by_its_address_one_is_led_to_the_case(stage: Stage) -> None:
    first, _, _ = asked(stage)
    shown = reader(stage).get(f"requests/{first.id}/ahead")
    assert (shown.status_code, shown.headers["Location"].split("/")[-1]) == (
        303,
        str(first.id),
    )


def test_nothing_follows_what_is_decided_or_not_there(stage: Stage) -> None:
    first, _, _ = asked(stage)
    stage.answer(first)
    theirs = fresh_stage().ask()
    bob = reader(stage)
    for request in (first, theirs):
        assert bob.get(f"requests/{request.id}/ahead").status_code == 404


def test_what_others_say_meanwhile_comes_by_the_stream(stage: Stage) -> None:
    """A comment changes nothing that is decided upon: the part of it is fetched anew."""
    first, second, _ = asked(stage)
    bob = reader(stage)
    held = draw(bob, first)
    comment(stage.reviewer().person, request_id=second.id, text="Ask first.")
    assert "Keyturn-Drawn" in answer(bob, first, held).headers


def test_the_page_asks_for_it_only_where_one_goes_on(stage: Stage) -> None:
    first, second, _ = asked(stage)
    bob = reader(stage)
    assert "data-ahead" not in bob.get(f"queue/{first.id}").content.decode()
    answer(bob, first, Held("", ""))
    assert "data-ahead" in bob.get(f"queue/{second.id}").content.decode()
