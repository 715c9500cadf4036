"""From one decision to the next request, where the reader wants that."""

import pytest

from approvals.models import Decision, Queue, Request
from approvals.services.erasure import erase_session
from approvals.services.queues import create_queue, take_right
from tests.approvals.stage import ARGUMENTS, Stage
from tests.approvals.test_authority_races import held_before_commit
from tests.approvals.views.browsing import Reader, reader
from tests.erasure.erasing import BY

V = Decision.Verdict
HIDDEN = {**ARGUMENTS, "payee": "Hush Ltd", "amount": "9.00"}
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


def with_another_queue(stage: Stage) -> Queue:
    """What asks for 9.00 waits there, before the same reviewers."""
    by, reviewers = stage.house.alice.id, stage.house.reviewers.id
    tenant = stage.tenant_id
    made = create_queue(
        tenant_id=tenant, by=by, slug="other", name="Other", reviewers=reviewers
    )
    stage.policy("other", queue="other", selector="arguments.amount == '9.00'")
    return made


def lose(stage: Stage, queue: Queue) -> None:
    take_right(
        tenant_id=stage.tenant_id,
        by=stage.house.alice.id,
        queue_id=queue.id,
        right="view",
        group_id=stage.house.reviewers.id,
    )


@pytest.mark.parametrize("target", ["case", "main"])
def test_what_goes_out_of_sight_while_the_answer_waits_is_not_shown(
    stage: Stage, target: str
) -> None:
    """The answer waits for the rights to be changed; the list was read before."""
    other = with_another_queue(stage)
    first, second = asked(stage, 2)
    hidden = stage.ask(arguments=HIDDEN, decide_within=902)
    bob = reader(stage)
    answer = {"verdict": "approve", "digest": bob.case(first.id).exact.digest}
    with held_before_commit(lambda: lose(stage, other)):
        shown = bob.post(
            f"requests/{first.id}/decide",
            {**answer, "onward": "1"},
            headers={**BOOSTED, "HX-Target": target},
        )
    assert shown.context["case"].id == str(second.id)
    assert str(hidden.id) not in shown.content.decode()
    assert "Hush" not in shown.content.decode()


def test_a_next_one_that_goes_out_of_sight_is_not_gone_to(stage: Stage) -> None:
    other = with_another_queue(stage)
    first = stage.ask(decide_within=900)
    stage.ask(arguments=HIDDEN, decide_within=902)
    bob = reader(stage)
    answer = {"verdict": "approve", "digest": bob.case(first.id).exact.digest}
    with held_before_commit(lambda: lose(stage, other)):
        shown = bob.post(
            f"requests/{first.id}/decide", {**answer, "onward": "1"}, headers=BOOSTED
        )
    assert (shown.status_code, stage.fresh(first).state) == (200, "approved")
    assert shown.context["case"].id == str(first.id)


def test_only_of_ones_own_answer_something_is_told(stage: Stage) -> None:
    carol = stage.reviewer()
    stage.policy(rules=[{"approvals": 2}])
    first, second, _ = asked(stage)
    bob, path = reader(stage), f"queue/{second.id}?before={first.id}"
    stage.answer(first, by=carol, reason="Carol has asked the bank.")
    assert bob.get(path).context["case"].earlier is None
    stage.answer(first, reason="So have I.")
    earlier = bob.get(path).context["case"].earlier
    assert earlier.said == "So have I."


def test_nothing_is_told_of_what_was_erased(stage: Stage) -> None:
    run = stage.run()
    first, second = stage.ask(run), stage.ask()
    stage.answer(first, verdict=V.REJECT, reason="Otto Meier said so.")
    bob = reader(stage)
    assert bob.case(first.id).notice.said
    erase_session(tenant_id=stage.tenant_id, by=BY, session_id=run.session_id)
    assert not bob.case(first.id).notice.said
    shown = bob.get(f"queue/{second.id}?before={first.id}")
    assert shown.context["case"].earlier is None


def test_the_same_answer_sent_twice_is_told_as_recorded(stage: Stage) -> None:
    request, _ = asked(stage, 2)
    bob = reader(stage)
    answer = {"verdict": "approve", "digest": bob.case(request.id).exact.digest}
    bob.post(f"requests/{request.id}/decide", answer)
    again = bob.post(f"requests/{request.id}/decide", answer)
    assert again.status_code == 409
    assert again.context["case"].notice.title == "Your answer is recorded"
    other = bob.post(f"requests/{request.id}/decide", {**answer, "verdict": "reject"})
    assert "was not recorded" in other.context["case"].notice.sentence


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
