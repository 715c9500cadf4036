"""Terms and holds of all the tenant, in the browser."""

from typing import Any

import pytest

from kernel.scope import tenant_transaction
from sessions.models import Hold, Retention
from sessions.services.retention import place_hold
from tenants.checks import Operator
from tenants.models import Role
from tests.approvals.stage import Stage, fresh_stage
from tests.approvals.views.browsing import Reader, reader
from tests.factories import fresh_member


@pytest.fixture
def stage() -> Stage:
    return fresh_stage()


@pytest.fixture
def alice(stage: Stage) -> Reader:
    return reader(stage, stage.house.alice)


def shown(who: Reader) -> Any:
    return who.get("retention").context["retention"]


def held(stage: Stage) -> int:
    with tenant_transaction(stage.tenant_id):
        return Hold.objects.filter(lifted_at=None).count()


def test_an_admin_says_how_long_things_are_kept(alice: Reader) -> None:
    assert shown(alice).terms == ()
    for kind, days in (("", "400"), ("bill", "30")):
        said = {"act": "term", "kind": kind, "days": days}
        assert alice.post("retention", said).status_code == 303
    view = shown(alice)
    assert [(one.kind, one.days) for one in view.terms] == [("", 400), ("bill", 30)]
    assert "is kept for 400 days" in view.answer
    alice.post("retention", {"act": "term", "kind": "", "days": ""})
    assert "is kept for ever" in shown(alice).answer


def test_all_of_it_is_held_and_let_go(stage: Stage, alice: Reader) -> None:
    place_hold(
        tenant_id=stage.tenant_id,
        by=Operator.CONSOLE,
        reason="Dispute 7",
        session_id=stage.ask().session_id,
    )
    alice.post("retention", {"act": "hold", "reason": "Audit of the year"})
    one, all_of_it = shown(alice).holds
    assert one.session_href
    assert (all_of_it.session_label, all_of_it.reason) == ("", "Audit of the year")
    said = {"act": "lift", "hold": all_of_it.id, "reason": ""}
    assert alice.post("retention", said).status_code == 422
    assert held(stage) == 2
    alice.post("retention", said | {"reason": "It is over."})
    assert held(stage) == 1


@pytest.mark.parametrize(
    ("said", "place"),
    [
        ({"act": "term", "days": "0"}, "term-days-error"),
        ({"act": "term", "days": "x"}, "term-days-error"),
        ({"act": "term", "kind": "k" * 64}, "term-kind-error"),
        ({"act": "hold", "reason": " "}, "hold-reason-error"),
        ({"act": "none"}, ""),
    ],
)
def test_what_is_wrong_is_said_beside_its_field(
    stage: Stage, alice: Reader, said: dict[str, str], place: str
) -> None:
    answer = alice.post("retention", said)
    assert answer.status_code == (422 if place else 404)
    assert not place or f'id="{place}"' in answer.content.decode()
    with tenant_transaction(stage.tenant_id):
        assert Retention.objects.count() + Hold.objects.count() == 0


@pytest.mark.parametrize(("role", "sees"), [(Role.AUDITOR, 200), (Role.REVIEWER, 403)])
def test_others_change_nothing(stage: Stage, role: Role, sees: int) -> None:
    other = reader(stage, fresh_member(stage.house.alice, "Dora", role=role))
    page = other.get("retention")
    assert page.status_code == sees
    assert "Keep it so long" not in page.content.decode()
    said = {"act": "term", "kind": "", "days": "1"}
    assert other.post("retention", said).status_code == 403
    with tenant_transaction(stage.tenant_id):
        assert Retention.objects.count() == 0
