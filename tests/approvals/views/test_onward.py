"""From one decision to the next request, where the reader wants that."""

import pytest

from approvals.models import Decision, Request
from tests.approvals.stage import Stage
from tests.approvals.views.browsing import Reader, reader

V = Decision.Verdict
BOOSTED = {"HX-Request": "true", "HX-Boosted": "true", "HX-Target": "case"}


def asked(stage: Stage, count: int = 3) -> list[Request]:
    """In the order of the list."""
    return [stage.ask(decide_within=900 + n) for n in range(count)]


def onward(bob: Reader, request: Request, query: str = "", **said: str) -> str:
    """Where an approval led that was to go on."""
    digest = bob.case(request.id).exact.digest
    answer = {"verdict": "approve", "digest": digest, "onward": "1", **said}
    response = bob.post(f"requests/{request.id}/decide{query}", answer)
    assert response.status_code == 303
    location: str = response.headers["Location"]
    return location


def test_the_next_in_the_list_is_opened(stage: Stage) -> None:
    first, second, third = asked(stage)
    bob = reader(stage)
    assert f"/queue/{third.id}" in onward(bob, second)
    assert f"/queue/{first.id}" in onward(bob, third)  # round the end of the list
    assert onward(bob, first).endswith(f"/queue/{first.id}")  # nothing is left


def test_the_selection_is_kept(stage: Stage) -> None:
    first, second, third = asked(stage)
    led = onward(reader(stage), second, "?tool=pay&sort=newest&view=mine")
    assert f"/queue/{first.id}?" in led  # asked before it, so it follows there
    assert {"tool=pay", "sort=newest", "view=mine"} <= {*led.split("?")[1].split("&")}
    assert str(third.id) not in led


def test_what_does_not_need_my_key_is_passed_over(stage: Stage) -> None:
    first, second, third = asked(stage)
    stage.answer(second, verdict=V.REQUEST_CHANGES, reason="More.")
    assert f"/queue/{third.id}" in onward(reader(stage), first)


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        ("approve", "approved"),
        ("reject", "rejected"),
        ("request_changes", "changes were asked for"),
    ],
)
def test_the_next_page_tells_what_became_of_the_last(
    stage: Stage, verdict: str, words: str
) -> None:
    first, second, _ = asked(stage)
    bob = reader(stage)
    led = onward(bob, first, verdict=verdict, reason="So.")
    case = bob.client.get(led).context["case"]
    assert case.id == str(second.id)
    assert case.earlier is not None
    assert case.earlier.title == f"REQ-{first.id.hex[-8:].upper()}: {words}"
    assert str(first.id) in case.earlier.href
    assert case.earlier.said == "So."


@pytest.mark.parametrize("rules", [1, 2])
@pytest.mark.parametrize("verdict", ["approve", "reject", "request_changes"])
def test_the_open_page_shows_what_the_address_does(
    stage: Stage, verdict: str, rules: int
) -> None:
    """The list is not read again after the answer, and the places in it are right."""
    if rules > 1:
        stage.reviewer()
        stage.policy(rules=[{"approvals": 2}])
    first, second, _ = asked(stage)
    bob = reader(stage)
    answer = {
        **{"verdict": verdict, "reason": "So.", "onward": "1"},
        "digest": bob.case(first.id).exact.digest,
    }
    shown = bob.post(f"requests/{first.id}/decide", answer, headers=BOOSTED)
    there = bob.get(f"queue/{second.id}?before={first.id}").context["case"]
    case = shown.context["case"]
    assert shown.headers["HX-Push-Url"].endswith(
        f"/queue/{second.id}?before={first.id}"
    )
    assert case.id == str(second.id)
    for name in ("place", "previous_href", "next_href", "onward_href", "earlier"):
        assert getattr(case, name) == getattr(there, name)


def test_a_refused_answer_goes_nowhere(stage: Stage) -> None:
    first, _, _ = asked(stage)
    said = {"verdict": "approve", "digest": "0" * 64, "onward": "1"}
    response = reader(stage).post(f"requests/{first.id}/decide", said)
    assert response.status_code == 409
    assert response.context["case"].id == str(first.id)


def test_the_box_stays_as_it_was_left(stage: Stage) -> None:
    first, second, third = asked(stage)
    bob = reader(stage)
    box = '<input type="checkbox" name="onward" value="1"'
    assert f"{box}>" in bob.get(f"queue/{first.id}").content.decode()
    onward(bob, first)
    assert f"{box} checked>" in bob.get(f"queue/{second.id}").content.decode()
    bob.decide(second.id, "approve")
    assert f"{box}>" in bob.get(f"queue/{third.id}").content.decode()


@pytest.mark.parametrize("before", ["nonsense", "%00", "1"])
def test_a_mistyped_address_tells_nothing(stage: Stage, before: str) -> None:
    request = stage.ask()
    shown = reader(stage).get(f"queue/{request.id}?before={before}")
    assert shown.context["case"].earlier is None


def test_nothing_is_told_of_what_is_not_seen(stage: Stage) -> None:
    from tests.approvals.stage import fresh_stage

    request, theirs = stage.ask(), fresh_stage().ask()
    shown = reader(stage).get(f"queue/{request.id}?before={theirs.id}")
    assert shown.context["case"].earlier is None
