"""Everything that one person did, from the chain: by sort, page by page, nobody else's."""

from typing import Any

import pytest
from django.core.cache import cache

from approvals.models import Decision
from approvals.services.remarks import comment
from kernel.ids import new_id
from tenants.models import Role
from tenants.services import change_role
from tests.approvals.stage import ARGUMENTS, Stage, fresh_stage
from tests.approvals.views.browsing import Reader, reader
from tests.factories import Somebody
from tests.oversight.test_audit_log import record
from tests.tenants.second_factors import signed_in, with_password

V = Decision.Verdict


@pytest.fixture
def stage() -> Stage:
    return fresh_stage()


@pytest.fixture
def alice(stage: Stage) -> Reader:
    return reader(stage, stage.house.alice)


def shown(alice: Reader, who: Somebody, query: str = "") -> Any:
    answer = alice.get(f"people/{who.id}/history{query}")
    assert answer.status_code == 200
    return answer.context["doings"]


def test_each_sort_has_its_own_and_all_together_everything(
    stage: Stage, alice: Reader
) -> None:
    carol = stage.reviewer("Carol")
    request = stage.ask()
    less = {**ARGUMENTS, "amount": "2.00"}
    stage.answer(request, carol, verdict=V.EDIT, arguments=less, reason="Less.")
    comment(carol.person, request_id=request.id, text="Their price list says so.")
    stage.answer(stage.ask(), carol)
    cache.clear()  # where other tests signed in just now, there is a limit
    signed_in(with_password(carol.user))
    found = {
        sort: [row.what for row in shown(alice, carol, f"?sort={sort}").rows]
        for sort in ("decisions", "edits", "comments", "sign-ins", "administration")
    }
    assert len(found["decisions"]) == 2
    assert (len(found["edits"]), len(found["comments"])) == (1, 1)
    assert found["sign-ins"] == ["Member signed in with password"]
    assert found["administration"] == []
    every = shown(alice, carol).rows
    assert len(every) == sum(map(len, found.values()))
    assert {row.href for row in every if row.sort == "Decisions"} >= {
        f"/t/{stage.house.tenant.slug}/queue/{request.id}"
    }
    assert [row.seq for row in every] == sorted(
        (row.seq for row in every), reverse=True
    )


def test_what_was_administered_is_the_administrators(
    stage: Stage, alice: Reader
) -> None:
    change_role(
        tenant_id=stage.tenant_id,
        by=stage.house.alice.id,
        member_id=stage.bob.id,
        role=Role.DEVELOPER,
    )
    rows = shown(alice, stage.house.alice, "?sort=administration").rows
    assert rows[0].what == "Member role changed"
    assert shown(alice, stage.bob).rows == ()


def test_pages_meet_without_a_gap(stage: Stage, alice: Reader) -> None:
    for number in range(60):
        record(stage, "thing.done", number=number)
    first = shown(alice, stage.bob, "?sort=administration")
    second = shown(alice, stage.bob, f"?{first.pages.next_href.partition('?')[2]}")
    assert first.rows[-1].seq == second.rows[0].seq + 1
    assert (len(first.rows), len(second.rows)) == (50, 10)
    assert second.pages.previous_href.endswith("?sort=administration")


def test_nobody_and_no_such_sort_is_not_found(stage: Stage, alice: Reader) -> None:
    stranger = stage.house.charlie.id
    for path in (
        f"people/{new_id()}/history",
        f"people/{stranger}/history",
        f"people/{stage.bob.id}/history?sort=secrets",
    ):
        assert alice.get(path).status_code == 404
