"""Afterwards a second person looks into a broken glass, who is on neither side."""

from collections.abc import Callable
from typing import Any

import pytest

from approvals.models import Comment, Decision
from approvals.services.erasure import erase_session, purge_step
from approvals.services.post_review import review_broken_glass
from audit.models import Entry
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from tenants.models import Role
from tests.approvals.glass_stage import GlassStage, give, glass_stage
from tests.approvals.stage import ARGUMENTS
from tests.approvals.superuser import superuser
from tests.approvals.test_separation import own
from tests.approvals.views.browsing import reader
from tests.concurrency import together
from tests.factories import Somebody, fresh_house, fresh_member
from tests.refusals import refused

type Broken = tuple[GlassStage, Decision]


@pytest.fixture(scope="module")
def stage() -> GlassStage:
    """Bob and Dave may break glasses; Carol and Erin decide."""
    return glass_stage()


@pytest.fixture(scope="module")
def carol(stage: GlassStage) -> Somebody:
    return stage.reviewer("Carol")


@pytest.fixture
def broken(stage: GlassStage) -> Decision:
    request = stage.ask()
    stage.smash(request)
    return stage.breaking(request)


def review(
    who: Somebody,
    decision: Decision,
    review: str = "acknowledged",
    words: str = "Fine.",
) -> Decision:
    return review_broken_glass(
        who.person, decision_id=decision.id, review=review, words=words
    )


def now(stage: GlassStage, decision: Decision) -> Decision:
    with tenant_transaction(stage.tenant_id):
        return Decision.objects.get(id=decision.id)


@pytest.mark.parametrize("verdict", ["acknowledged", "objected"])
def test_who_decides_says_what_they_think_of_it(
    stage: GlassStage, carol: Somebody, broken: Decision, verdict: str
) -> None:
    review(carol, broken, verdict, "The warehouse did stand still.")
    after = now(stage, broken)
    assert (after.review, after.reviewed_by_id) == (verdict, carol.id)
    assert after.reviewed_at is not None
    with tenant_transaction(stage.tenant_id):
        said = Comment.objects.get(request=broken.request_id)
        entry = Entry.objects.get(kind="approval.post_reviewed", subject_id=broken.id)
    assert said.text == "The warehouse did stand still."
    assert entry.data["review"] == verdict
    assert entry.data["comment"] == str(said.id)
    assert said.text not in str(entry.data)


def test_whoever_oversees_the_tenant_may(stage: GlassStage, broken: Decision) -> None:
    auditor = fresh_member(stage.house.alice, "Audrey", role=Role.AUDITOR)
    review(auditor, broken)
    assert now(stage, broken).review == "acknowledged"


def who_broke_it(stage: GlassStage) -> Somebody:
    return stage.dave


def who_owns_the_agent(stage: GlassStage) -> Somebody:
    return stage.house.alice


def who_became_its_owner(stage: GlassStage) -> Somebody:
    eve = fresh_member(stage.house.alice, "Eve", role=Role.ADMIN)
    own(stage, eve)
    return eve


def who_only_looks(stage: GlassStage) -> Somebody:
    frank = fresh_member(stage.house.alice, "Frank")
    give(stage, frank, "view", "edit_arguments", "resolve")
    return frank


def who_is_a_guest(stage: GlassStage) -> Somebody:
    guest = fresh_member(stage.house.alice, "Gwen", role=Role.AUDITOR)
    with superuser() as connection:
        connection.execute(
            "UPDATE tenants_member SET until = now() + interval '1 day' WHERE id = %s",
            [guest.id],
        )
    return guest


def who_sees_nothing(stage: GlassStage) -> Somebody:
    return fresh_member(stage.house.alice, "Dora")


def of_another_tenant(stage: GlassStage) -> Somebody:
    return fresh_house().alice


@pytest.mark.parametrize(
    ("who", "code"),
    [
        (who_broke_it, "own_request"),
        (who_owns_the_agent, "own_request"),
        (who_became_its_owner, "own_request"),
        (who_only_looks, "not_permitted"),
        (who_is_a_guest, "not_permitted"),
        (who_sees_nothing, "not_found"),
        (of_another_tenant, "not_found"),
    ],
)
def test_nobody_else_does(
    stage: GlassStage,
    broken: Decision,
    who: Callable[[GlassStage], Somebody],
    code: str,
) -> None:
    with refused(code):
        review(who(stage), broken)
    assert now(stage, broken).review == ""


def test_the_editor_of_what_was_approved_does_not(stage: GlassStage) -> None:
    request = stage.ask()
    verdict = Decision.Verdict.EDIT
    less = {**ARGUMENTS, "amount": "1.00"}
    stage.answer(request, verdict=verdict, arguments=less, reason="Less.")
    stage.smash(request)
    with refused("own_request"):
        review(stage.bob, stage.breaking(request))


def test_one_whose_wording_was_spoilt_is_still_looked_into(
    stage: GlassStage, broken: Decision, carol: Somebody
) -> None:
    """By whoever is on no side that is still known."""
    with superuser() as connection:
        connection.execute(
            "UPDATE approvals_revision SET envelope = '{}' WHERE id = %s",
            [broken.revision_id],
        )
    with refused("own_request"):
        review(stage.house.alice, broken)
    page = reader(stage, carol).get(f"broken-glass/{broken.id}")
    assert page.status_code == 200
    review(carol, broken)
    assert now(stage, broken).review == "acknowledged"


def test_an_ordinary_decision_has_no_review(stage: GlassStage, carol: Somebody) -> None:
    request = stage.ask()
    stage.answer(request)
    with tenant_transaction(stage.tenant_id):
        ordinary = Decision.objects.get(request=request)
    with refused("not_found"):
        review(carol, ordinary)


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ({"review": "approved"}, "review_unknown"),
        ({"words": " \n"}, "comment_invalid"),
        ({"words": "x" * 4001}, "comment_invalid"),
    ],
)
def test_it_is_one_of_two_words_and_some_of_their_own(
    stage: GlassStage,
    carol: Somebody,
    broken: Decision,
    said: dict[str, Any],
    code: str,
) -> None:
    with refused(code):
        review(carol, broken, **said)
    assert now(stage, broken).review == ""


def test_of_many_at_once_one_is_first(
    stage: GlassStage, carol: Somebody, broken: Decision
) -> None:
    people = [stage.bob, carol, stage.reviewer("Erin"), stage.reviewer("Gil")]
    results = together(*(lambda one=one: review(one, broken) for one in people))
    assert sum(isinstance(one, Decision) for one in results) == 1
    codes = {one.code for one in results if isinstance(one, Problem)}
    assert codes == {"reviewed_before"}
    with tenant_transaction(stage.tenant_id):
        assert Comment.objects.filter(request=broken.request_id).count() == 1


def test_the_database_lets_nobody_review_themselves(
    stage: GlassStage, broken: Decision
) -> None:
    with superuser() as connection, pytest.raises(Exception, match="by_another"):
        connection.execute(
            "UPDATE approvals_decision SET review = 'acknowledged',"
            " reviewed_by_id = member_id, reviewed_at = now() WHERE id = %s",
            [broken.id],
        )


def test_what_was_said_is_erased_with_the_session(
    stage: GlassStage, carol: Somebody, broken: Decision
) -> None:
    """It can still be looked into afterwards; the words of that are not kept."""
    request = broken.request_id
    with tenant_transaction(stage.tenant_id):
        session = Decision.objects.get(id=broken.id).request.session_id
    by = stage.house.alice.id
    erase_session(tenant_id=stage.tenant_id, by=by, session_id=session)
    while purge_step(stage.tenant_id, session):
        pass
    assert now(stage, broken).reason == ""
    review(carol, broken, "objected", "Not kept.")
    assert now(stage, broken).review == "objected"
    with tenant_transaction(stage.tenant_id):
        assert not Comment.objects.filter(request=request).exists()
        entry = Entry.objects.get(kind="approval.post_reviewed", subject_id=broken.id)
    assert entry.data == {"request": str(request), "review": "objected"}
