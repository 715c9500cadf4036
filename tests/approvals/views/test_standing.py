"""Standing approvals in the browser: made from a case, listed with uses, and revoked."""

from typing import Any

from approvals.models import Request, StandingApproval
from approvals.services.redeem import redeem
from kernel.scope import tenant_transaction
from tenants.models import User
from tests.api import Api
from tests.approvals.stage import ARGUMENTS, Stage
from tests.approvals.views.browsing import Reader, reader
from tests.factories import fresh_member

PERMITS = {"expires_within": 604_800, "uses": 5, "open": ["/amount", "/payee"]}
BOUNDED = {
    "uses": "2",
    "within": "2 days",
    "kind-0": "exactly",
    "kind-1": "between",
    "least-1": "0",
    "most-1": "1500.00",
    "reason": "Toner every week.",
}


def approved(stage: Stage) -> Request:
    stage.policy(standing=PERMITS)
    request = stage.ask(arguments={"payee": "Halden", "amount": "1240.00"})
    stage.answer(request)
    return request


def make(bob: Reader, request: Request, **said: str) -> Any:
    digest = bob.case(request.id).exact.digest
    opened = bob.get(f"requests/{request.id}/standing").context["make"].open
    form = dict(BOUNDED)
    if [one.pointer for one in opened] == ["/amount", "/payee"]:
        swap = {"0": "1", "1": "0"}
        form = {
            f"{key[:-1]}{swap[key[-1]]}" if key[-2:] in {"-0", "-1"} else key: text
            for key, text in form.items()
        }
    return bob.post(
        f"requests/{request.id}/standing", {"digest": digest, **form, **said}
    )


def test_it_is_made_from_a_case_listed_with_its_uses_and_revoked(stage: Stage) -> None:
    request, bob = approved(stage), reader(stage)
    assert bob.case(request.id).standing_href.endswith("/standing")
    response = make(bob, request)
    assert response.status_code == 302
    with tenant_transaction(stage.tenant_id):
        one = StandingApproval.objects.get()
    assert (one.uses, one.author_id) == (2, stage.bob.id)
    run = stage.run()
    like = stage.ask(run, arguments={"payee": "Halden", "amount": "1499.99"})
    above = stage.ask(arguments={"payee": "Halden", "amount": "1500.01"})
    states = [stage.fresh(each).state for each in (like, above)]
    assert states == ["approved", "pending"]
    redeem(stage.house.robot.principal, request_id=like.id, fence=run.fence)
    (row,) = bob.get("standing").context["standing"].rows
    assert (row.left, row.uses, row.state) == (1, 2, "live")
    page = bob.get(f"standing/{one.id}")
    shown = page.context["standing"]
    assert [(use.began, use.state) for use in shown.uses] == [(True, "consumed")]
    assert "Toner every week." in page.text
    (given,) = bob.case(like.id).decisions
    assert given.standing_href.endswith(str(one.id))
    assert bob.post(f"standing/{one.id}", {"reason": " "}).status_code == 422
    assert bob.post(f"standing/{one.id}", {"reason": "Over."}).status_code == 302
    shown = bob.get(f"standing/{one.id}").context["standing"]
    assert (shown.row.state, shown.act_href) == ("revoked", "")


def test_what_is_wrong_stands_beside_its_field_and_nothing_is_lost(
    stage: Stage,
) -> None:
    request, bob = approved(stage), reader(stage)
    for said, field in (
        ({"uses": "many"}, "uses"),
        ({"uses": "6"}, "uses"),
        ({"within": "soon"}, "expires"),
        ({"within": "8 days"}, "expires"),
        ({"kind-0": "prefix", "prefix-0": "H", "kind-1": "exactly"}, "arguments/"),
        ({"kind-0": "one_of", "values-0": "", "kind-1": "one_of"}, "arguments/"),
    ):
        response = make(bob, request, **said)
        form = response.context["make"]
        assert response.status_code == 422
        assert any(one.startswith(field) for one in form.errors), (said, form.errors)
        assert form.reason == "Toner every week."
    changed = make(bob, request, digest="00")
    assert changed.status_code == 409
    with tenant_transaction(stage.tenant_id):
        assert not StandingApproval.objects.exists()


def test_it_is_offered_only_to_whom_it_is_open(stage: Stage) -> None:
    stage.policy()
    request, bob = stage.ask(), reader(stage)
    stage.answer(request)
    assert bob.case(request.id).standing_href == ""
    shown = bob.get(f"requests/{request.id}/standing").context["make"]
    assert shown.why_not == "Policy does not permit it."
    carol = reader(stage, stage.reviewer())
    shown = carol.get(f"requests/{request.id}/standing").context["make"]
    assert shown.why_not == "Approve one such request first."


def test_a_member_who_sees_no_queue_finds_none(stage: Stage) -> None:
    request = approved(stage)
    make(reader(stage), request)
    with tenant_transaction(stage.tenant_id):
        one = StandingApproval.objects.get()
    dora = reader(stage, fresh_member(stage.house.alice, "Dora"))
    assert dora.get("standing").context["standing"].rows == ()
    assert dora.get(f"standing/{one.id}").status_code == 404
    assert dora.post(f"standing/{one.id}", {"reason": "No."}).status_code == 404


def test_who_made_it_is_called_as_everywhere_in_the_tenant(stage: Stage) -> None:
    """What their own account says, also elsewhere, is nobody's business here."""
    make(reader(stage), approved(stage))
    rows = User.objects.filter(id=stage.bob.user.id)
    rows.update(name="Robert of Elsewhere")
    (row,) = reader(stage).get("standing").context["standing"].rows
    (item,) = Api.of(stage.house.robot).get("standing-approvals").json()["items"]
    assert (row.author, item["by"]) == ("Bob", "Bob")


def test_its_agent_reads_that_there_is_one_and_not_its_bounds(stage: Stage) -> None:
    request = approved(stage)
    make(reader(stage), request)
    like = stage.ask(arguments={"payee": "Halden", "amount": "1.00"})
    api = Api.of(stage.house.robot)
    (item,) = api.get("standing-approvals").json()["items"]
    assert (item["tool"], item["uses"], item["used"], item["state"]) == (
        "pay",
        2,
        0,
        "live",
    )
    assert "1500.00" not in str(item)
    assert ARGUMENTS["payee"] not in str(item)
    (decision,) = api.get(f"approvals/{like.id}").json()["decisions"]
    assert decision["standing_approval"] == item["id"]
