"""Comments and "I am on it" on the page: said, shown to others, and inert."""

import pytest
from django.test import Client

from approvals.services.remarks import comment, take
from tests.approvals.stage import Stage
from tests.approvals.views.browsing import reader

HOSTILE = '✔ <script>alert(1)</script> \u202eevil <a href="https://x.example">ok</a>'


def test_a_comment_is_in_the_timeline_of_whoever_sees_the_request(stage: Stage) -> None:
    request, carol = stage.ask(), stage.reviewer()
    response = reader(stage).post(
        f"requests/{request.id}/comment?view=mine", {"text": "One\r\ntwo"}
    )
    assert response.status_code == 303
    assert response.headers["Location"].endswith(f"{request.id}?view=mine")
    shown = reader(stage, carol).case(request.id).timeline
    said = next(one for one in shown if one.text == "Bob commented")
    assert (said.said, said.said_by_agent) == ("One\ntwo", False)


def test_what_is_hostile_in_a_comment_is_marked_and_inert(stage: Stage) -> None:
    request = stage.ask()
    comment(stage.bob.person, request_id=request.id, text=HOSTILE)
    page = reader(stage).get(f"queue/{request.id}").content.decode()
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>alert" not in page
    assert "\u202e" not in page
    assert "U+202E" in page
    assert '<a href="https://x.example' not in page


@pytest.mark.parametrize("text", ["", "x" * 4_001])
def test_what_cannot_be_said_stays_beside_its_field(stage: Stage, text: str) -> None:
    request = stage.ask()
    response = reader(stage).post(f"requests/{request.id}/comment", {"text": text})
    page = response.content.decode()
    assert response.status_code == 422
    assert "A comment has 1 to 4,000 characters." in page
    field = page.partition('id="comment-text"')[2].partition("</textarea>")[0]
    assert 'aria-invalid="true"' in field
    assert field.partition(">")[2].strip() == text


def test_the_others_see_who_is_on_it_and_still_can_decide(stage: Stage) -> None:
    request, carol = stage.ask(), stage.reviewer()
    bob = reader(stage)
    bob.post(f"requests/{request.id}/take", {"act": "take"})
    assert bob.case(request.id).remarks.mine
    theirs = reader(stage, carol)
    remarks = theirs.case(request.id).remarks
    assert (remarks.taken_by, remarks.mine) == ("Bob", False)
    assert "Bob is on it" in theirs.get("queue").content.decode()
    refused = theirs.post(f"requests/{request.id}/take", {"act": "take"})
    assert refused.status_code == 409
    assert "Somebody else is on it" in refused.content.decode()
    assert theirs.decide(request.id, "approve").status_code == 303


def test_letting_go(stage: Stage) -> None:
    request, bob = stage.ask(), reader(stage)
    take(stage.bob.person, request_id=request.id)
    bob.post(f"requests/{request.id}/take", {"act": "release"})
    assert bob.case(request.id).remarks.taken_by == ""
    assert "Bob is on it" not in bob.get("queue").content.decode()


def test_nobody_is_on_what_is_decided(stage: Stage) -> None:
    request = stage.ask()
    take(stage.bob.person, request_id=request.id)
    stage.answer(request)
    remarks = reader(stage).case(request.id).remarks
    assert (remarks.taken_by, remarks.take_href) == ("", "")
    assert remarks.comment_href


@pytest.mark.parametrize("form", ["comment", "take"])
def test_only_a_form_of_ours_is_heard(stage: Stage, form: str) -> None:
    request = stage.ask()
    client = Client(enforce_csrf_checks=True)
    client.force_login(stage.bob.user)
    path = f"/t/{stage.house.tenant.slug}/requests/{request.id}/{form}"
    assert client.post(path, {"text": "Hm.", "act": "take"}).status_code == 403
    assert client.get(path).status_code == 303
    now = stage.fresh(request)
    assert now.taken_by_id is None


def test_giving_it_to_another(stage: Stage) -> None:
    request, carol = stage.ask(), stage.reviewer()
    bob = reader(stage)
    others = bob.case(request.id).remarks.givable
    assert others == ((str(carol.member.id), "Carol"),)
    path = f"requests/{request.id}/take"
    assert bob.post(path, {"act": "give", "to": "?"}).status_code == 422
    bob.post(path, {"act": "give", "to": str(carol.member.id)})
    assert reader(stage, carol).case(request.id).remarks.mine
    assert "Carol is on it" in bob.get("queue").content.decode()
