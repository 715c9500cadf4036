"""Taking an answer back: it stays on record, counts no more, and leaves nothing behind.

Two keys are needed; Bob and Carol decide.
"""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import IntegrityError
from django.db.models import Q

from approvals.asked import asked_now
from approvals.models import Decision, Grant, Request
from approvals.queries import current_revision
from approvals.reading import as_json, snapshot
from approvals.services.queues import give_right, take_right
from approvals.services.taking_back import take_back
from audit.models import Entry
from kernel.clock import ClockTimestamp, database_now
from kernel.scope import tenant_transaction
from tenants.services import deactivate_member, remove_from_group
from tests.approvals.absence import absence
from tests.approvals.changes import Approved
from tests.approvals.glass_stage import glass_stage
from tests.approvals.stage import ARGUMENTS, Stage, fresh_stage
from tests.approvals.superuser import overdue, superuser
from tests.approvals.test_authority import observed, redeem_alone
from tests.chain import kinds_of
from tests.factories import Somebody, fresh_house, fresh_member
from tests.refusals import refused

V = Decision.Verdict
EDITED = {**ARGUMENTS, "amount": "1.00"}


def two_keys(**rule: int) -> Stage:
    stage = fresh_stage()
    stage.policy(rules=[{"approvals": 2, **rule}])
    return stage


def taken_back(stage: Stage, request: Request, by: Somebody | None = None) -> Request:
    """As the page would: for the digest that is on screen now."""
    digest = stage.digest(request)
    return take_back((by or stage.bob).person, request_id=request.id, digest=digest)


def decisions(stage: Stage, request: Request) -> list[Decision]:
    with tenant_transaction(stage.tenant_id):
        rows = Decision.objects.filter(request=request)
        return list(rows.order_by("created_at", "id"))


def test_a_key_that_was_taken_back_does_not_count() -> None:
    stage = two_keys()
    request, carol = stage.ask(), stage.reviewer()
    stage.answer(request)
    assert taken_back(stage, request).state == Request.State.PENDING
    assert stage.answer(request, carol).state == Request.State.PENDING
    assert stage.answer(request).state == Request.State.APPROVED
    gone, *kept = decisions(stage, request)
    assert gone.taken_back_by_id == stage.bob.id
    assert gone.dismissed_at is not None
    assert [one.dismissed_at for one in kept] == [None, None]


def test_it_is_on_record_by_whom() -> None:
    stage = two_keys()
    request = stage.ask()
    stage.answer(request)
    taken_back(stage, request)
    (gone,) = decisions(stage, request)
    kinds = ["decision.recorded", "decision.taken_back"]
    assert kinds_of(stage.tenant_id, gone.id) == kinds
    with tenant_transaction(stage.tenant_id):
        entry = Entry.objects.get(kind="decision.taken_back")
        now = Request.objects.select_related("tool", "queue").get(id=request.id)
        (told,) = as_json(snapshot(now))["decisions"]
    assert (entry.actor_type, entry.actor_id) == ("member", str(stage.bob.id))
    assert entry.data == {
        "request": str(request.id),
        "revision": 1,
        "digest": stage.digest(request).hex(),
        "verdict": "approve",
    }
    assert (told["verdict"], told["counted"]) == ("approve", False)


def test_another_answer_may_follow() -> None:
    stage = two_keys()
    request = stage.ask()
    stage.answer(request)
    taken_back(stage, request)
    rejected = stage.answer(request, verdict=V.REJECT, reason="On second thoughts.")
    assert rejected.state == Request.State.REJECTED


def test_as_often_as_one_likes() -> None:
    stage = two_keys()
    request = stage.ask()
    for _ in range(3):
        stage.answer(request)
        with refused("answered_before"):
            stage.answer(request)
        taken_back(stage, request)
    assert len(decisions(stage, request)) == 3


@pytest.mark.parametrize(
    "said",
    [
        {"verdict": V.REJECT, "reason": "No."},
        {"verdict": V.RESPOND, "response": "Later."},
    ],
    ids=["reject", "respond"],
)
def test_neither_does_another_answer_count(said: dict[str, Any]) -> None:
    stage = two_keys(denials=2)
    request, carol = stage.ask(), stage.reviewer()
    stage.answer(request, **said)
    taken_back(stage, request)
    assert stage.answer(request, carol, **said).state == Request.State.PENDING
    assert stage.answer(request, **said).state in {"rejected", "answered"}


@pytest.mark.parametrize(
    "said",
    [
        {"verdict": V.APPROVE},
        {"verdict": V.REJECT, "reason": "No."},
        {"verdict": V.RESPOND, "response": "Later."},
        {"verdict": V.REQUEST_CHANGES, "reason": "More."},
    ],
    ids=lambda said: str(said["verdict"]),
)
def test_what_has_led_to_something_is_not_taken_back(said: dict[str, Any]) -> None:
    stage = fresh_stage()
    request = stage.ask()
    stage.answer(request, **said)
    with refused("already_decided"):
        taken_back(stage, request)
    (decision,) = decisions(stage, request)
    assert decision.dismissed_at is None


def test_nor_is_what_came_to_nothing_in_time() -> None:
    stage = two_keys()
    request = stage.ask()
    stage.answer(request)
    overdue(request.id)
    with refused("expired"):
        taken_back(stage, request)
    assert stage.fresh(request).state == Request.State.EXPIRED
    assert decisions(stage, request)[0].dismissed_at is None


def test_nor_what_was_taken_back_before() -> None:
    stage = two_keys()
    request = stage.ask()
    stage.answer(request)
    taken_back(stage, request)
    with refused("taken_back"):
        taken_back(stage, request)


def test_nor_what_was_an_answer_to_other_words() -> None:
    stage = two_keys()
    request, carol = stage.ask(), stage.reviewer()
    stage.answer(request)
    before = stage.digest(request)
    edit: Any = {"verdict": V.EDIT, "arguments": EDITED, "reason": "Less."}
    stage.answer(request, carol, **edit)
    with refused("digest_changed"):
        take_back(stage.bob.person, request_id=request.id, digest=before)
    with refused("not_answered"):
        taken_back(stage, request)


def test_nobody_takes_back_what_another_answered() -> None:
    stage = two_keys()
    request = stage.ask()
    stage.answer(request)
    for other in (stage.reviewer(), stage.house.alice):
        with refused("not_answered"):
            taken_back(stage, request, other)
    assert decisions(stage, request)[0].dismissed_at is None


def test_of_several_it_is_ones_own() -> None:
    stage = fresh_stage()
    carol, _ = stage.reviewer(), stage.reviewer("Dora")
    stage.policy(rules=[{"approvals": 3}])
    request = stage.ask()
    stage.answer(request)
    stage.answer(request, carol)
    taken_back(stage, request, carol)
    assert [bool(one.dismissed_at) for one in decisions(stage, request)] == [0, 1]


# -- Who may ---------------------------------------------------------------------------


def test_a_neighbour_finds_nothing() -> None:
    stage = two_keys()
    request = stage.ask()
    stage.answer(request)
    with refused("not_found"):
        taken_back(stage, request, fresh_house().alice)
    with refused("not_found"):
        taken_back(stage, request, fresh_member(stage.house.alice, "Olga"))


def leaves_the_group(stage: Stage, by: dict[str, Any]) -> None:
    group = stage.house.reviewers.id
    remove_from_group(**by, group_id=group, member_id=stage.bob.id)


def is_deactivated(stage: Stage, by: dict[str, Any]) -> None:
    deactivate_member(**by, member_id=stage.bob.id)


@pytest.mark.parametrize("lose", [leaves_the_group, is_deactivated])
def test_who_sees_it_no_more_finds_nothing(lose: Callable[..., None]) -> None:
    stage = two_keys()
    request = stage.ask()
    stage.answer(request)
    lose(stage, {"tenant_id": stage.tenant_id, "by": stage.house.alice.id})
    with refused("not_found"):
        taken_back(stage, request)


def test_who_may_not_decide_any_more_leaves_no_key() -> None:
    """It would count again as soon as the right came back."""
    stage = two_keys()
    request, carol = stage.ask(), stage.reviewer()
    stage.answer(request)
    right: dict[str, Any] = {
        "tenant_id": stage.tenant_id,
        "by": stage.house.alice.id,
        "queue_id": stage.queue.id,
        "right": "decide",
        "group_id": stage.house.reviewers.id,
    }
    take_right(**right)
    taken_back(stage, request)
    with refused("not_permitted"):
        stage.answer(request)
    give_right(**right)
    assert stage.answer(request, carol).state == Request.State.PENDING


@pytest.mark.parametrize("who", ["anna", "bea"])
def test_either_of_two_takes_back_what_one_answered_for_the_other(who: str) -> None:
    case = absence(rules=[{"approvals": 2}])
    case.answer()
    taken_back(case.stage, case.request, getattr(case, who))
    (gone,) = decisions(case.stage, case.request)
    assert gone.taken_back_by_id == getattr(case, who).id
    case.stage.answer(case.request, case.anna)
    with refused("answered_before"):
        case.answer()


def test_after_it_the_other_may_be_answered_for_again() -> None:
    case = absence(rules=[{"approvals": 2}])
    case.stage.answer(case.request, case.anna)
    taken_back(case.stage, case.request, case.anna)
    assert case.answer().state == Request.State.PENDING
    assert case.stage.answer(case.request).state == Request.State.APPROVED


def test_an_editors_key_is_taken_back_like_any_other() -> None:
    stage = two_keys()
    stage.policy(rules=[{"approvals": 2}], editor_counts=True)
    request, carol = stage.ask(), stage.reviewer()
    edit: Any = {"verdict": V.EDIT, "arguments": EDITED, "reason": "Less."}
    stage.answer(request, **edit)
    taken_back(stage, request)
    assert stage.answer(request, carol).state == Request.State.PENDING


def test_who_took_a_rejection_back_may_break_the_glass() -> None:
    stage = glass_stage()
    stage.permit(rules=[{"approvals": 2, "denials": 2}])
    request = stage.ask()
    give_right(
        tenant_id=stage.tenant_id,
        by=stage.house.alice.id,
        queue_id=stage.queue.id,
        right="break_glass",
        member_id=stage.bob.id,
    )
    stage.answer(request, verdict=V.REJECT, reason="No.")
    with refused("answered_before"):
        stage.smash(request, stage.bob)
    taken_back(stage, request)
    assert stage.smash(request, stage.bob).state == Request.State.APPROVED


def test_whoever_took_it_back_is_asked_again() -> None:
    stage = two_keys()
    request = stage.ask()

    def asked() -> frozenset[Any]:
        with tenant_transaction(stage.tenant_id):
            now = Request.objects.get(id=request.id)
            return asked_now(now, current_revision(now), database_now())

    stage.answer(request)
    assert stage.bob.id not in asked()
    taken_back(stage, request)
    assert stage.bob.id in asked()


# -- What is stored --------------------------------------------------------------------


def put_back(request: Request) -> None:
    """By whoever holds the whole server: triggers do not run for them."""
    with superuser() as root:
        root.execute("SET session_replication_role = replica")
        root.execute(
            "UPDATE approvals_decision SET dismissed_at = NULL, taken_back_by_id = NULL"
            " WHERE request_id = %s",
            [request.id],
        )


def test_one_that_is_put_back_lets_nothing_happen() -> None:
    stage = two_keys()
    run = stage.run()
    request, carol = stage.ask(run), stage.reviewer()
    stage.answer(request)
    taken_back(stage, request)
    put_back(request)
    stage.answer(request, carol)
    case = Approved(stage=stage, request=request, run=run)
    assert redeem_alone(case) == "authority.decision_not_in_audit"
    assert observed(case)["effects"] == 0


MARKED = {"dismissed_at": ClockTimestamp(), "dismissed_reason": "So."}


@pytest.mark.parametrize(
    "changed",
    [
        {"dismissed_at": None},
        {"dismissed_at": None, "taken_back_by": None},
        {"taken_back_by": None},
    ],
    ids=["counts", "counts, and nobody took it back", "nobody took it back"],
)
def test_the_database_keeps_it_taken_back(changed: dict[str, Any]) -> None:
    stage = two_keys()
    request = stage.ask()
    stage.answer(request)
    taken_back(stage, request)
    with pytest.raises(IntegrityError), tenant_transaction(stage.tenant_id):
        Decision.objects.filter(request=request).update(**changed)


def test_the_database_lets_only_its_own_people_take_it_back() -> None:
    stage = two_keys()
    request, carol = stage.ask(), stage.reviewer()
    stage.answer(request)
    for values in (
        {**MARKED, "taken_back_by": carol.id},
        {"taken_back_by": stage.bob.id},  # and leaves it counting
    ):
        with pytest.raises(IntegrityError), tenant_transaction(stage.tenant_id):
            Decision.objects.filter(request=request).update(**values)


def test_the_database_takes_nothing_back_that_led_to_something() -> None:
    stage = fresh_stage()
    request = stage.ask()
    stage.answer(request)
    by = {**MARKED, "taken_back_by": stage.bob.id}
    with pytest.raises(IntegrityError), tenant_transaction(stage.tenant_id):
        Decision.objects.filter(request=request).update(**by)


def test_the_database_takes_nothing_back_of_former_words() -> None:
    stage = two_keys()
    request, carol = stage.ask(), stage.reviewer()
    stage.answer(request)
    edit: Any = {"verdict": V.EDIT, "arguments": EDITED, "reason": "Less."}
    stage.answer(request, carol, **edit)
    by = {**MARKED, "taken_back_by": stage.bob.id}
    with pytest.raises(IntegrityError), tenant_transaction(stage.tenant_id):
        Decision.objects.filter(request=request, member=stage.bob.id).update(**by)


@pytest.mark.parametrize("column", ["member", "on_behalf_of"])
def test_the_database_lets_nobody_stand_twice(column: str) -> None:
    """Only what was taken back makes room."""
    case = absence(rules=[{"approvals": 2}])
    case.answer()
    (given,) = decisions(case.stage, case.request)
    carl = case.stage.reviewer("Carl")
    another = replaced(given, column, carl)
    with pytest.raises(IntegrityError), tenant_transaction(case.stage.tenant_id):
        another.save(force_insert=True)
    taken_back(case.stage, case.request, case.bea)
    with tenant_transaction(case.stage.tenant_id):
        another.save(force_insert=True)
        standing = Q(request=case.request, taken_back_by=None)
        assert Decision.objects.filter(standing).count() == 1
        assert not Grant.objects.filter(request=case.request).exists()


def replaced(given: Decision, column: str, carl: Somebody) -> Decision:
    """The same answer again, with this one of its two people, and not the other."""
    fields = {one.attname: getattr(given, one.attname) for one in given._meta.fields}
    del fields["id"]
    if column == "member":
        fields |= {"on_behalf_of_id": None, "delegation_id": None}
    else:
        fields |= {"member_id": carl.id}
    return Decision(**fields)
