"""Taking one's answer back on the page: one button, told at once, and open again."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from approvals.models import Decision, Request
from approvals.presentation.case import CaseView
from kernel.scope import tenant_transaction
from tests.approvals.absence import absence
from tests.approvals.stage import ARGUMENTS, Stage
from tests.approvals.superuser import overdue
from tests.approvals.views.browsing import Reader, reader
from tests.approvals.views.test_snoozing import put_aside, shown

V = Decision.Verdict
BOOSTED = {"HX-Request": "true", "HX-Boosted": "true", "HX-Target": "case"}


@pytest.fixture
def request_(stage: Stage) -> Request:
    """Bob has turned one of two keys."""
    stage.reviewer()
    stage.policy(rules=[{"approvals": 2, "denials": 2}])
    request = stage.ask()
    stage.answer(request, reason="Fine.")
    return request


def press(who: Reader, request: Request, **options: Any) -> Any:
    """The button, as it stands on the page now."""
    case = who.case(request.id)
    said = {"digest": case.exact.digest}
    return who.post(f"requests/{request.id}/take-back", said, **options)


def offered(case: CaseView) -> bool:
    return bool(case.desk and case.desk.take_back_href)


def counted(stage: Stage, request: Request) -> int:
    with tenant_transaction(stage.tenant_id):
        return Decision.objects.filter(request=request, dismissed_at=None).count()


def test_it_stands_where_the_answer_is_told(stage: Stage, request_: Request) -> None:
    bob = reader(stage)
    page = bob.get(f"queue/{request_.id}").content.decode()
    assert "You have answered this revision already." in page
    assert page.count("Take it back") == 1
    assert f'action="{bob.home}/requests/{request_.id}/take-back' in page


def test_it_leads_back_to_the_case_which_can_be_answered(
    stage: Stage, request_: Request
) -> None:
    bob = reader(stage)
    response = press(bob, request_)
    assert response.status_code == 303
    case = bob.client.get(response.headers["Location"]).context["case"]
    assert case.notice.title == "You took your answer back"
    assert (case.keys.turned, case.desk.blocked, offered(case)) == (0, {}, False)
    assert [one.text for one in case.timeline if one.icon == "undo"] == [
        "Bob took their answer back"
    ]
    (row,) = case.decisions
    assert (row.counted, row.why_not_counted) == (False, "Taken back")
    assert counted(stage, request_) == 0
    assert bob.decide(request_.id, "reject", reason="No.").status_code == 303
    assert counted(stage, request_) == 1


def test_without_leaving_the_open_page(stage: Stage, request_: Request) -> None:
    response = press(reader(stage), request_, headers=BOOSTED)
    assert response.status_code == 200
    page = response.content.decode()
    assert 'id="outcome" data-outcome' in page
    assert "You took your answer back" in page


def test_the_page_knows_that_it_is_another(stage: Stage, request_: Request) -> None:
    """Whoever reads it meanwhile is told, also where as many keys have turned again."""
    carol = reader(stage, stage.reviewer("Dora"))
    seen = [carol.case(request_.id).answers]
    press(reader(stage), request_)
    seen.append(carol.case(request_.id).answers)
    stage.answer(request_)
    seen.append(carol.case(request_.id).answers)
    assert seen == sorted(set(seen))


def test_it_is_offered_to_who_has_answered_and_nobody_else(
    stage: Stage, request_: Request
) -> None:
    assert offered(reader(stage).case(request_.id))
    assert not offered(reader(stage, stage.reviewer("Dora")).case(request_.id))
    stage.answer(request_, stage.reviewer("Emil"))
    assert reader(stage).case(request_.id).desk is None


def test_it_waits_for_ones_key_again(stage: Stage, request_: Request) -> None:
    assert shown(stage) == []
    press(reader(stage), request_)
    assert shown(stage) == [str(request_.id)]


def test_what_was_put_aside_is_back(stage: Stage) -> None:
    carol = stage.reviewer()
    stage.policy(rules=[{"approvals": 2}])
    request = stage.ask()
    stage.answer(request, carol)
    put_aside(stage, request)
    assert reader(stage).case(request.id).remarks.snoozed_until is not None
    assert shown(stage) == []
    press(reader(stage, carol), request)
    assert shown(stage) == [str(request.id)]
    assert reader(stage).case(request.id).remarks.snoozed_until is None
    stage.answer(request, carol)
    assert shown(stage) == [str(request.id)]


def test_a_form_that_comes_late_takes_nothing_back(
    stage: Stage, request_: Request
) -> None:
    bob = reader(stage)
    said = {"digest": bob.case(request_.id).exact.digest}
    stage.answer(request_, stage.reviewer("Dora"))
    response = bob.post(f"requests/{request_.id}/take-back", said)
    notice = response.context["case"].notice
    assert (response.status_code, notice.code) == (409, "already_decided")
    assert notice.sentence == "This is approved. Nothing was taken back."
    assert counted(stage, request_) == 2


def test_nor_one_that_is_sent_twice(stage: Stage, request_: Request) -> None:
    bob = reader(stage)
    press(bob, request_)
    response = press(bob, request_)
    assert response.status_code == 409
    assert response.context["case"].notice.code == "taken_back"


def test_nor_one_of_former_words(stage: Stage, request_: Request) -> None:
    bob, edited = reader(stage), {**ARGUMENTS, "amount": "1.00"}
    said = {"digest": bob.case(request_.id).exact.digest}
    dora = stage.reviewer("Dora")
    stage.answer(request_, dora, verdict=V.EDIT, arguments=edited, reason="Less.")
    response = bob.post(f"requests/{request_.id}/take-back", said)
    notice = response.context["case"].notice
    assert (response.status_code, notice.code) == (409, "digest_changed")
    assert notice.sentence.endswith("Nothing was taken back.")


@pytest.mark.parametrize("digest", ["", "x", "0" * 63])
def test_nor_one_that_is_not_ours(stage: Stage, request_: Request, digest: str) -> None:
    said = {"digest": digest}
    response = reader(stage).post(f"requests/{request_.id}/take-back", said)
    assert response.status_code == 409
    assert counted(stage, request_) == 1


def test_nor_one_that_comes_after_the_deadline(stage: Stage, request_: Request) -> None:
    bob = reader(stage)
    said = {"digest": bob.case(request_.id).exact.digest}
    overdue(request_.id)
    response = bob.post(f"requests/{request_.id}/take-back", said)
    notice = response.context["case"].notice
    assert (response.status_code, notice.code) == (409, "expired")


def test_who_comes_by_its_address_is_led_to_the_case(
    stage: Stage, request_: Request
) -> None:
    bob = reader(stage)
    response = bob.get(f"requests/{request_.id}/take-back")
    assert response.status_code == 303
    assert response.headers["Location"] == f"{bob.home}/queue/{request_.id}"
    assert counted(stage, request_) == 1


def test_of_two_the_other_is_told_who_took_it_back() -> None:
    case = absence(rules=[{"approvals": 2}])
    case.answer()
    bea, anna = reader(case.stage, case.bea), reader(case.stage, case.anna)
    assert offered(bea.case(case.request.id))
    press(anna, case.request)
    seen = bea.case(case.request.id)
    assert seen.notice is not None
    assert seen.notice.title == "Anna took this answer back"
    texts = [one.text for one in seen.timeline if one.icon == "undo"]
    assert texts == ["Anna took the answer of Bea for Anna back"]
    assert seen.desk is not None
    assert [one.text for one in seen.desk.behalf] == ["As myself", "For Anna"]


def test_it_costs_no_more_with_many_answers(stage: Stage, request_: Request) -> None:
    bob = reader(stage)

    def cost() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert press(bob, request_, headers=BOOSTED).status_code == 200
        return len(captured)

    press(bob, request_)  # who has looked is said there, too
    stage.answer(request_)
    before = cost()
    for _ in range(3):
        stage.answer(request_)
        press(bob, request_)
    stage.answer(request_)
    assert cost() == before
