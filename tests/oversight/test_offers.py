"""Rules that are offered: exact bounds, a draft like any other, and no second offer."""

from typing import Any

from approvals.models import Decision, PolicyDraft
from approvals.offering import offers
from approvals.policy import ActionSubject
from approvals.policy.beforehand import Constraint
from approvals.policy.bounds_cel import selector_of
from approvals.policy.selector import Sight, check_selector, selects
from approvals.services.policy_drafts import publish_policy_draft
from approvals.services.standing import Terms, make_standing
from audit.models import Entry
from kernel.scope import tenant_transaction
from tests.approvals.stage import Stage, fresh_stage
from tests.approvals.views.browsing import Reader, reader

AMOUNTS = [f"{10 * n}.50" for n in range(1, 11)]


def approve(stage: Stage, amounts: list[str] = AMOUNTS, **more: Any) -> Any:
    arguments = [{"payee": "Halden", "amount": amount, **more} for amount in amounts]
    asked = stage.ask_all([{"arguments": one} for one in arguments])
    for one in asked:
        stage.answer(one)
    return asked[-1]


def cards(who: Reader) -> Any:
    return who.get("offers").context["offers"].cards


def act(who: Reader, name: str, digest: str) -> Any:
    return who.post("offers", {"act": name, "digest": digest})


def test_what_was_approved_ten_times_is_offered_in_its_bounds() -> None:
    stage = fresh_stage()
    alice = reader(stage, stage.house.alice)
    last = approve(stage, AMOUNTS[:9])
    assert cards(alice) == ()
    last = approve(stage, AMOUNTS[9:])
    (card,) = cards(alice)
    assert (card.count, card.inside, card.examined) == (10, 10, 10)
    shown = {one.pointer: (one.words, one.values) for one in card.bounds}
    assert shown == {
        "/amount": ("from, to", ("10.50", "100.50")),
        "/payee": ("exactly", ("Halden",)),
    }
    assert act(reader(stage), "draft", card.digest).status_code == 403
    there = act(alice, "draft", card.digest)
    assert there.url.endswith("/policies/pay-robot")
    with tenant_transaction(stage.tenant_id):
        draft = PolicyDraft.objects.get()
    assert draft.definition["standing"] == {
        "uses": 10,
        "expires_within": 30 * 86_400,
        "open": ["/amount"],
    }
    assert "double(arguments.amount) <= 100.50" in draft.definition["selector"]
    by = stage.house.alice.id
    publish_policy_draft(tenant_id=stage.tenant_id, by=by, name=draft.name)
    # Approved under it, the next one may be agreed to beforehand.
    last = approve(stage, ["20.50"])
    terms = Terms(seconds=60, uses=10)
    make_standing(stage.bob.person, request_id=last.id, terms=terms)


def test_dismissed_it_does_not_come_back_for_the_same_bounds() -> None:
    stage = fresh_stage()
    alice = reader(stage, stage.house.alice)
    approve(stage)
    (card,) = cards(alice)
    assert act(alice, "dismiss", "00" * 32).status_code == 404
    assert act(alice, "dismiss", card.digest).status_code == 302
    assert cards(alice) == ()
    with tenant_transaction(stage.tenant_id):
        assert Entry.objects.get(kind="offer.dismissed").data["digest"] == card.digest
    approve(stage, ["500.00"])
    (wider,) = cards(alice)
    assert wider.digest != card.digest


def test_one_other_answer_or_another_shape_and_nothing_is_offered() -> None:
    stage = fresh_stage()
    approve(stage)
    refused = stage.ask()
    stage.answer(refused, verdict=Decision.Verdict.REJECT, reason="Not this one.")
    shaped = fresh_stage()
    approve(shaped, AMOUNTS[:9])
    approve(shaped, AMOUNTS[9:], urgent=True)
    for one in (stage, shaped):
        with tenant_transaction(one.tenant_id):
            assert offers() == []


def test_the_policy_that_matched_is_the_one_to_be_widened() -> None:
    stage = fresh_stage()
    stage.policy("payments", selector="tool == 'pay'")
    approve(stage)
    alice = reader(stage, stage.house.alice)
    (card,) = cards(alice)
    assert card.policy == "payments"
    assert act(alice, "draft", card.digest).status_code == 302
    (card,) = cards(alice)
    assert (card.drafts, card.why_not[:7]) == (False, "A draft")
    with tenant_transaction(stage.tenant_id):
        definition = PolicyDraft.objects.get().definition
    assert definition["selector"] == "tool == 'pay'"
    assert definition["standing"]["open"] == ["/amount"]


def test_a_selector_of_bounds_quotes_what_agents_wrote() -> None:
    hostile = 'x" || true || "'
    constraints = [
        Constraint("/payee", "one_of", {"values": [hostile, "Halden"]}),
        Constraint("/amount", "between", {"least": 1, "most": "2.50"}),
    ]
    selector = selector_of("pay", "robot", "test", constraints)
    check_selector(selector)

    def holds(payee: str, amount: str) -> bool:
        action = ActionSubject(
            tool="pay",
            arguments={"payee": payee, "amount": amount},
            target=None,
            risk="low",
            environment="test",
            agent="robot",
            subject="",
            facts={},
        )
        return selects(selector, Sight(action.variables()))

    assert holds(hostile, "2.50")
    assert not holds("x", "2.00")
    assert not holds("Halden", "2.51")
