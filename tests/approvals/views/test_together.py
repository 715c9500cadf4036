"""One answer to several requests: low risk and one tool to approve, any to reject."""

import re
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from approvals.models import Decision, Request
from approvals.pages.together import MOST
from approvals.presentation.together import TogetherPage
from approvals.services.queues import create_queue, give_right
from approvals.services.revoke import revoke
from approvals.services.together import decide_each
from checkpoints.models import Tool
from checkpoints.services.tools import change_tool, register_tool
from kernel.ids import new_id
from kernel.scope import tenant_transaction
from tenants.models import Role
from tests.approvals.stage import ARGUMENTS, Stage, fresh_stage
from tests.approvals.test_secret_names import NAMED, managed, register
from tests.approvals.tool_server import ToolServer
from tests.approvals.views.browsing import Reader, reader
from tests.factories import fresh_member

V = Decision.Verdict


def tag(stage: Stage, name: str = "tag") -> Request:
    with tenant_transaction(stage.tenant_id):
        is_new = not Tool.objects.filter(name=name).exists()
    if is_new:
        register_tool(
            tenant_id=stage.tenant_id,
            by=stage.house.alice.id,
            name=name,
            mode="agent",
            risk="low",
            definition={},
        )
    return stage.ask(tool=name, arguments={"tag": f"billing-{new_id().hex[-4:]}"})


def looked_at(bob: Reader, verdict: str, *asked: Request) -> TogetherPage:
    picks = "".join(f"&pick={one.id}" for one in asked)
    response = bob.get(f"together?verdict={verdict}{picks}")
    assert response.status_code == 200
    page: TogetherPage = response.context["page"]
    return page


def answer(bob: Reader, page: TogetherPage, **other: Any) -> Any:
    """The form as the page has it."""
    said = {
        "verdict": page.verdict,
        "tool": page.tool,
        "pick": [row.id for row in page.offered],
        **{f"digest-{row.id}": row.exact.digest for row in page.offered},
        **other,
    }
    return bob.post("together", said)


def states(stage: Stage, *asked: Request) -> list[str]:
    return [stage.fresh(one).state for one in asked]


def test_every_action_is_shown_whole_and_each_has_its_own_decision(
    stage: Stage,
) -> None:
    asked = [tag(stage) for _ in range(3)]
    bob = reader(stage)
    page = looked_at(bob, "approve", *asked)
    assert [row.id for row in page.offered] == [str(one.id) for one in asked]
    assert states(stage, *asked) == ["pending"] * 3  # looking decides nothing
    response = answer(bob, page, reason="Harmless.")
    assert response.status_code == 200
    assert states(stage, *asked) == ["approved"] * 3
    with tenant_transaction(stage.tenant_id):
        kept = list(Decision.objects.order_by("created_at"))
    assert [one.request_id for one in kept] == [one.id for one in asked]
    assert {one.reason for one in kept} == {"Harmless."}
    assert len({stage.digest(one) for one in asked}) == 3


def test_it_says_how_each_stands_and_leads_to_what_becomes_of_them(
    stage: Stage,
) -> None:
    asked = [tag(stage) for _ in range(2)]
    bob = reader(stage)
    response = answer(bob, looked_at(bob, "reject", *asked), reason="No.")
    shown = response.context["page"]
    assert [row.state for row in shown.offered] == ["rejected"] * 2
    onward = bob.client.get(shown.onward_href).content.decode()
    assert all(f'id="req-{one.id}"' in onward for one in asked)
    text = response.content.decode()
    assert "Your answer is recorded for 2 requests." in text
    assert " not." not in text.partition("<h1")[2].partition("</section>")[0]


def test_what_is_not_harmless_is_left_out_and_said_which(stage: Stage) -> None:
    fine, other, high = tag(stage), tag(stage, "label"), stage.ask()
    decided = tag(stage)
    stage.answer(decided)
    page = looked_at(reader(stage), "approve", fine, other, high, decided)
    assert [row.id for row in page.offered] == [str(fine.id)]
    assert {row.id: row.refused for row in page.refused} == {
        str(other.id): "It is about another tool than the others.",
        str(high.id): "Its risk is not low: it is approved by itself.",
        str(decided.id): "It is approved.",
    }


def test_the_server_refuses_what_a_form_adds(stage: Stage) -> None:
    """The page offered none of these; each is refused by the verb, and the rest goes on."""
    fine, high, other = tag(stage), stage.ask(), tag(stage, "label")
    bob = reader(stage)
    page = looked_at(bob, "approve", fine)
    digests = {f"digest-{one.id}": stage.digest(one).hex() for one in (high, other)}
    picks = [str(one.id) for one in (high, fine, other)]
    response = answer(bob, page, pick=picks, **digests)
    assert states(stage, fine, high, other) == ["approved", "pending", "pending"]
    shown = response.context["page"]
    assert [row.id for row in shown.offered] == [str(fine.id)]
    assert [row.refused for row in shown.refused] == [
        "This is decided by itself only. Its risk is not low.",
        "This is decided by itself only. It is about another tool than the others.",
    ]


def test_a_tool_that_became_risky_meanwhile_is_not_approved_together(
    stage: Stage,
) -> None:
    request = tag(stage)
    bob = reader(stage)
    page = looked_at(bob, "approve", request)
    with tenant_transaction(stage.tenant_id):
        tool = Tool.objects.get(name="tag")
    make(stage, tool, "high")
    assert answer(bob, page).status_code == 409
    assert states(stage, request) == ["pending"]


def make(stage: Stage, tool: Tool, risk: str) -> None:
    change_tool(
        tenant_id=stage.tenant_id,
        by=stage.house.alice.id,
        tool_id=tool.id,
        mode=tool.mode,
        risk=risk,
        definition=tool.definition,
    )


@pytest.mark.parametrize("of", ["arguments", "tool"])
def test_what_uses_a_secret_is_not_approved_together(
    tool_server: ToolServer, of: str
) -> None:
    """Which one, and for what, is said on the request's own page alone."""
    header = {"headers": {"X-Key": "secret://erp_token"}} if of == "tool" else {}
    stage = managed(tool_server, **header)
    register(stage)
    make(stage, stage.tool, "low")
    request = stage.ask(arguments=NAMED if of == "arguments" else ARGUMENTS)
    assert request.risk == "low"
    assert looked_at(reader(stage), "approve", request).offered == ()
    seen = {request.id: stage.digest(request)}
    bob = stage.bob.person
    came = decide_each(bob, verdict=V.APPROVE, reason="", seen=seen, tool="pay")
    problem = came[request.id]
    assert problem is not None
    assert (problem.code, states(stage, request)) == ("not_together", ["pending"])


@pytest.mark.parametrize("digest", ["", "00", "0" * 64, "not hex"])
def test_only_what_was_shown_is_approved(stage: Stage, digest: str) -> None:
    request, other = tag(stage), tag(stage)
    bob = reader(stage)
    page = looked_at(bob, "approve", request, other)
    response = answer(bob, page, **{f"digest-{request.id}": digest})
    assert states(stage, request, other) == ["pending", "approved"]
    assert (
        "changed while you were reading" in response.context["page"].refused[0].refused
    )


def test_nobody_approves_their_own_together(stage: Stage) -> None:
    request = tag(stage)
    alice = reader(stage, stage.house.alice)
    assert looked_at(alice, "approve", request).offered == ()
    seen = {request.id: stage.digest(request)}
    came = decide_each(
        stage.house.alice.person, verdict=V.APPROVE, reason="", seen=seen, tool="tag"
    )
    assert came[request.id] is not None
    assert states(stage, request) == ["pending"]


def test_any_are_rejected_together_with_a_reason(stage: Stage) -> None:
    asked = [tag(stage), stage.ask(), tag(stage, "label")]
    bob = reader(stage)
    page = looked_at(bob, "reject", *asked)
    assert len(page.offered) == 3
    again = answer(bob, page, reason="  ")
    assert again.status_code == 422
    assert "Say why" in again.content.decode()
    assert states(stage, *asked) == ["pending"] * 3
    assert answer(bob, page, reason="Not this month.").status_code == 200
    assert states(stage, *asked) == ["rejected"] * 3


def test_a_reason_with_a_null_character_is_refused_and_nothing_is_decided(
    stage: Stage,
) -> None:
    asked = tag(stage)
    bob = reader(stage)
    page = looked_at(bob, "approve", asked)
    response = answer(bob, page, reason="Harm\0less.")
    assert response.status_code == 422
    assert response.context["page"].error
    assert states(stage, asked) == ["pending"]


def test_what_is_not_seen_is_not_there(stage: Stage) -> None:
    request, theirs = tag(stage), fresh_stage().ask()
    bob = reader(stage)
    page = looked_at(bob, "reject", request, theirs)
    assert {row.id for row in (*page.offered, *page.refused)} == {str(request.id)}
    digest = {f"digest-{theirs.id}": "0" * 64}
    picks = [str(theirs.id), str(new_id())]
    response = answer(bob, page, pick=picks, reason="No.", **digest)
    assert str(theirs.id) not in response.content.decode()
    assert response.status_code == 409


@pytest.mark.parametrize(
    "query",
    ["", "?verdict=approve", "?verdict=edit&pick={id}", "?pick=x&verdict=reject"],
)
def test_an_incomplete_address_leads_back(stage: Stage, query: str) -> None:
    path = query.format(id=stage.ask().id)
    response = reader(stage).get(f"together{path}")
    assert response.status_code == 302
    assert response.headers["Location"].endswith("/queue")


def test_many_are_answered_in_parts(stage: Stage) -> None:
    asked = [tag(stage)] + [UUID(int=n) for n in range(MOST)]
    picks = "".join(f"&pick={getattr(one, 'id', one)}" for one in asked)
    page = reader(stage).get(f"together?verdict=reject{picks}").context["page"]
    assert page.more
    assert len(page.offered) == 1


def test_the_page_costs_as_much_for_one_as_for_many(stage: Stage) -> None:
    asked = [tag(stage) for _ in range(4)]
    bob = reader(stage)
    costs = []
    for some in (asked[:1], asked):
        with CaptureQueriesContext(connection) as captured:
            looked_at(bob, "approve", *some)
        costs.append(len(captured))
    assert costs[0] == costs[1]


def test_the_list_offers_ticks_for_what_is_pending(stage: Stage) -> None:
    first, changed = stage.ask(), stage.ask()
    stage.answer(changed, verdict=V.REQUEST_CHANGES, reason="More.")
    text = reader(stage).get("queue?tool=pay").content.decode()
    assert f'name="pick" value="{first.id}"' in text
    assert f'name="pick" value="{changed.id}"' not in text
    assert '<input type="hidden" name="tool" value="pay">' in text


def test_who_decides_nowhere_has_nothing_to_tick(stage: Stage) -> None:
    stage.ask()
    auditor = fresh_member(stage.house.alice, "Audrey", role=Role.AUDITOR)
    for somebody, ticks in ((stage.bob, True), (auditor, False)):
        text = reader(stage, somebody).get("queue?view=open").content.decode()
        assert 'class="req__link' in text
        assert ('name="pick"' in text) is ticks
        assert ('id="together"' in text) is ticks


@pytest.mark.parametrize("view", ["open", "decided"])
def test_nothing_is_ticked_on_a_queue_that_one_only_sees(
    stage: Stage, view: str
) -> None:
    by = {"tenant_id": stage.tenant_id, "by": stage.house.alice.id}
    other = create_queue(**by, slug="other", name="Other").id
    stage.policy("elsewhere", selector="arguments.amount == '7.00'", queue="other")
    asked = [stage.ask(), stage.ask(arguments={**ARGUMENTS, "amount": "7.00"})]
    if view == "decided":
        carol = stage.reviewer("Carol")
        give_right(**by, queue_id=other, right="decide", member_id=carol.id)
        give_right(**by, queue_id=other, right="view", member_id=carol.id)
        for one in asked:
            stage.answer(one, carol)
    give_right(**by, queue_id=other, right="view", member_id=stage.bob.id)
    bob = reader(stage)
    html = bob.get(f"queue?view={view}").content.decode()
    assert html.count('class="req__link') == 2
    assert re.findall(r'name="pick" value="([^"]+)"', html) == [str(asked[0].id)]


def test_what_was_approved_together_is_taken_back_from_one_place(
    stage: Stage,
) -> None:
    stage.policy(wait=3_600)
    asked = [tag(stage) for _ in range(3)]
    bob = reader(stage)
    done = answer(bob, looked_at(bob, "approve", *asked)).context["page"]
    assert all(row.waits_until is None for row in done.refused)
    undo = bob.get(done.undo_href.removeprefix(f"{bob.home}/")).context["page"]
    assert [row.id for row in undo.offered] == [str(one.id) for one in asked]
    assert all(row.waits_until > undo.now for row in undo.offered)
    picks = [row.id for row in undo.offered[:2]]
    again = answer(bob, undo, pick=picks, reason=" ")
    assert again.status_code == 422
    assert states(stage, *asked) == ["approved"] * 3
    shown = answer(bob, undo, pick=picks, reason="Wrong tag.").context["page"]
    assert states(stage, *asked) == ["revoked", "revoked", "approved"]
    assert (len(shown.offered), shown.undo_href) == (2, "")


def test_what_was_used_meanwhile_is_told_to_be_too_late(stage: Stage) -> None:
    asked = [tag(stage) for _ in range(2)]
    for request in asked:
        stage.answer(request)
    bob = reader(stage)
    page = looked_at(bob, "revoke", *asked)
    assert all(row.waits_until is None for row in page.offered)
    redeemed(stage, asked[0])
    shown = answer(bob, page, reason="Wrong tag.").context["page"]
    assert states(stage, *asked) == ["consumed", "revoked"]
    assert [row.refused.partition(".")[0] for row in shown.refused] == [
        "Too late: executed"
    ]
    assert looked_at(bob, "revoke", asked[0]).refused[0].refused.startswith("Too late")


def redeemed(stage: Stage, request: Request) -> None:
    """The agent acts on it."""
    fence = {"Keyturn-Fence": str(stage.fresh(request.run).fence)}
    client = stage.house.robot.client()
    path = f"/api/v1/approvals/{request.id}/redeem"
    kind = "application/json"
    assert client.post(path, headers=fence, content_type=kind).status_code == 200


def test_only_who_decides_there_takes_back(stage: Stage) -> None:
    request = tag(stage)
    stage.answer(request)
    auditor = fresh_member(stage.house.alice, "Dora", role=Role.AUDITOR)
    dora = reader(stage, auditor)
    page = looked_at(dora, "revoke", request)
    assert page.refused[0].refused == "You do not decide on its queue."
    said = {"verdict": "revoke", "pick": str(request.id), "reason": "No."}
    assert dora.post("together", said).status_code == 409
    assert states(stage, request) == ["approved"]


def test_the_decided_offer_ticks_for_what_can_be_revoked(stage: Stage) -> None:
    live, over = tag(stage), tag(stage)
    stage.answer(live)
    stage.answer(over, verdict=V.REJECT, reason="No.")
    text = reader(stage).get("queue?view=decided&mine=1").content.decode()
    assert f'name="pick" value="{live.id}"' in text
    assert f'name="pick" value="{over.id}"' not in text
    assert 'value="revoke"' in text
    assert 'value="approve"' not in text


def test_how_they_stand_is_told_afterwards_of_what_is_seen(stage: Stage) -> None:
    asked, bob = [tag(stage) for _ in range(2)], reader(stage)
    done = answer(bob, looked_at(bob, "approve", *asked)).context["page"]
    path = done.stand_href.removeprefix(f"{bob.home}/")
    revoke(stage.bob.person, request_id=asked[0].id, reason="Stop.")
    html = bob.get(path).content.decode()
    first, second = (html.index(f'id="state-{one.id}" hx-swap-oob') for one in asked)
    told = sorted([(first, "Revoked"), (second, "Approved")])
    assert [word for _, word in told] == re.findall("(Revoked|Approved)</span>", html)
    stranger = fresh_member(stage.house.alice, "Zoe")
    assert "state-" not in reader(stage, stranger).get(path).content.decode()
