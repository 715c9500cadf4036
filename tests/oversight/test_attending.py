"""A run that needs attention: what its page says, and what a person makes of it there."""

from typing import Any

import pytest

from approvals.models import Request
from approvals.services.queues import create_queue, give_right
from approvals.services.refusing import need_attention
from audit.models import Entry
from kernel.scope import tenant_transaction
from sessions.models import Run
from sessions.queries import last_seq
from sessions.runs import lock_run
from tenants.models import Role
from tenants.verbs import perform
from tests.approvals.stage import ARGUMENTS, Stage, fresh_stage
from tests.approvals.views.browsing import reader
from tests.factories import Somebody, fresh_member

WHY = "Its position could not be read."


@pytest.fixture
def stage() -> Stage:
    return fresh_stage()


@pytest.fixture
def stopped(stage: Stage) -> Request:
    """A question whose run stopped, for a reason that only a person can judge."""
    request = stage.ask()
    perform(
        stage.tenant_id,
        lambda verb: need_attention(verb, lock_run(request.run_id), WHY),
    )
    return request


def attend(
    stage: Stage,
    request: Request,
    choice: str,
    reason: str = "I have looked.",
    by: Somebody | None = None,
    seen: int | None = None,
) -> Any:
    said = {"choice": choice, "reason": reason}
    said["seen"] = str(last_seen(stage, request) if seen is None else seen)
    return reader(stage, by).post(f"runs/{request.run_id}/attend", said)


def last_seen(stage: Stage, request: Request) -> int:
    with tenant_transaction(stage.tenant_id):
        return last_seq(Run.objects.get(id=request.run_id))


def page(stage: Stage, request: Request, by: Somebody | None = None) -> Any:
    return reader(stage, by).get(f"runs/{request.run_id}")


def state(stage: Stage, request: Request) -> str:
    with tenant_transaction(stage.tenant_id):
        return str(Run.objects.get(id=request.run_id).state)


def test_the_page_says_why_it_stopped_and_what_each_choice_does(
    stage: Stage, stopped: Request
) -> None:
    html = page(stage, stopped).content.decode()
    assert WHY in html
    assert f"runs/{stopped.run_id}/attend" in html
    assert "it is cancelled for good" in html
    assert "Its open questions wait as before" in html


def test_a_run_that_needs_nobody_offers_nothing(stage: Stage) -> None:
    request = stage.ask()
    assert page(stage, request).context["run"].attention is None
    refused = attend(stage, request, "release")
    assert refused.status_code == 409
    assert state(stage, request) == Run.State.PAUSED


def test_released_it_waits_for_its_answer_again(stage: Stage, stopped: Request) -> None:
    done = attend(stage, stopped, "release", "It was read by hand.")
    assert (done.status_code, done["Location"]) == (
        303,
        f"/t/{stage.house.tenant.slug}/runs/{stopped.run_id}",
    )
    assert state(stage, stopped) == Run.State.PAUSED
    assert stage.fresh(stopped).state == Request.State.PENDING
    assert stage.answer(stopped).state == Request.State.APPROVED


def test_abandoned_it_is_over_and_so_is_its_question(
    stage: Stage, stopped: Request
) -> None:
    assert attend(stage, stopped, "abandon").status_code == 303
    assert state(stage, stopped) == Run.State.CANCELLED
    assert stage.fresh(stopped).state == Request.State.CANCELLED


@pytest.mark.parametrize("choice", ["release", "abandon"])
def test_it_is_on_record_who_said_so_and_why(
    stage: Stage, stopped: Request, choice: str
) -> None:
    attend(stage, stopped, choice, "The bank confirmed it on the phone.")
    to = {"release": "run.resuming", "abandon": "run.cancelled"}[choice]
    with tenant_transaction(stage.tenant_id):
        entries = Entry.objects.filter(subject_id=stopped.run_id, kind=to)
        by = {str(one.actor_id) for one in entries}
    assert str(stage.bob.id) in by
    assert "on the phone" in page(stage, stopped).content.decode()


@pytest.mark.parametrize(
    ("choice", "reason"), [("release", "  "), ("", "Why."), ("elsewhere", "Why.")]
)
def test_without_a_choice_or_a_reason_nothing_happens_and_words_are_kept(
    stage: Stage, stopped: Request, choice: str, reason: str
) -> None:
    refused = attend(stage, stopped, choice, reason)
    assert refused.status_code == 422
    assert state(stage, stopped) == Run.State.NEEDS_ATTENTION
    assert reason.strip() in refused.content.decode()
    assert "reason_needed" in refused.content.decode()


def test_who_may_only_look_is_offered_nothing_and_refused(
    stage: Stage, stopped: Request
) -> None:
    auditor = fresh_member(stage.house.alice, "Dora", role=Role.AUDITOR)
    shown = page(stage, stopped, auditor)
    assert shown.context["run"].attention.href == ""
    assert WHY in shown.content.decode()
    refused = attend(stage, stopped, "abandon", by=auditor)
    assert refused.status_code == 403
    assert state(stage, stopped) == Run.State.NEEDS_ATTENTION


def test_an_administrator_needs_no_queue(stage: Stage, stopped: Request) -> None:
    admin = fresh_member(stage.house.alice, "Erin", role=Role.ADMIN)
    assert page(stage, stopped, admin).context["run"].attention.href
    assert attend(stage, stopped, "abandon", by=admin).status_code == 303


def test_a_form_of_another_site_changes_nothing(stage: Stage, stopped: Request) -> None:
    answer = stage.bob.browser().post(
        f"/t/{stage.house.tenant.slug}/runs/{stopped.run_id}/attend",
        {"choice": "abandon", "reason": "Mine."},
    )
    assert answer.status_code == 403
    assert state(stage, stopped) == Run.State.NEEDS_ATTENTION


@pytest.mark.parametrize("choice", ["abandon", "release"])
def test_it_takes_the_right_on_every_queue_where_the_run_still_asks(
    stage: Stage, choice: str
) -> None:
    board = create_queue(
        tenant_id=stage.tenant_id, by=stage.house.alice.id, slug="board", name="Board"
    )
    stage.policy("board", queue="board", selector="arguments.amount == '9.99'")
    seen, unseen = stage.ask_all([{}, {"arguments": {**ARGUMENTS, "amount": "9.99"}}])
    assert seen.queue_id != unseen.queue_id == board.id
    perform(
        stage.tenant_id, lambda verb: need_attention(verb, lock_run(seen.run_id), WHY)
    )
    assert reader(stage).get(f"queue/{unseen.id}").status_code == 404
    assert page(stage, seen).context["run"].attention.href == ""
    refused = attend(stage, seen, choice)
    assert refused.status_code == 403
    assert stage.fresh(unseen).state == Request.State.PENDING
    assert state(stage, seen) == Run.State.NEEDS_ATTENTION

    give_right(
        tenant_id=stage.tenant_id,
        by=stage.house.alice.id,
        queue_id=board.id,
        right="resolve",
        group_id=stage.house.reviewers.id,
    )
    assert page(stage, seen).context["run"].attention.href
    assert attend(stage, seen, choice).status_code == 303


@pytest.mark.parametrize("choice", ["release", "abandon"])
def test_nobody_speaks_of_another_stop_than_the_one_they_read(
    stage: Stage, stopped: Request, choice: str
) -> None:
    """It went on meanwhile, and stopped again for a reason that the page did not say."""
    read = page(stage, stopped).context["run"].attention.seen
    assert attend(stage, stopped, "release", seen=read).status_code == 303
    again = "It is another matter now."
    perform(
        stage.tenant_id,
        lambda verb: need_attention(verb, lock_run(stopped.run_id), again),
    )
    late = attend(stage, stopped, choice, "The first one is settled.", seen=read)
    assert late.status_code == 409
    assert "moved_on" in (html := late.content.decode())
    assert again in html
    assert "The first one is settled." in html
    assert state(stage, stopped) == Run.State.NEEDS_ATTENTION
