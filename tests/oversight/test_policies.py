"""Policies in the browser: listed in words, edited, tried out, published, compared."""

from html import escape
from typing import Any

import pytest
from django.http import QueryDict

from approvals.models import Policy, PolicyRevision
from approvals.policy.selector import check_selector
from approvals.services.policy_drafts import save_policy_draft
from kernel.scope import tenant_transaction
from oversight.presentation.selector_words import selector_words
from tenants.models import Role
from tenants.services import ask_for_second_admin, create_group
from tests.approvals.stage import Stage, fresh_stage
from tests.approvals.views.browsing import Reader, reader
from tests.factories import fresh_member

PAYMENTS: dict[str, str] = {
    "verdict": "require_review",
    "summary": "Large payments need two.",
    "selector": "tool == 'pay' && double(arguments.amount) >= 1000.0",
    "decide_within": "4 h",
    "reason": "always",
    "note": "As the board asked.",
    "rule": "0",
    "approvals-0": "2",
    "denials-0": "1",
}


@pytest.fixture
def stage() -> Stage:
    return fresh_stage()


@pytest.fixture
def alice(stage: Stage) -> Reader:
    return reader(stage, stage.house.alice)


def read(who: Reader, name: str = "payments") -> str:
    """What the forms of the policy's page, or of its editor, carry."""
    context = who.get(f"policies/{name}").context
    shown: str = context["policy"].seen if context and "policy" in context else ""
    return shown


def keep(who: Reader, name: str = "payments", **said: str) -> Any:
    typed = {**PAYMENTS, "seen": read(who, name), **said}
    return who.post(f"policies/{name}/edit", {"act": "keep", **typed})


def act(who: Reader, name: str, seen: str | None = None) -> Any:
    carried = read(who) if seen is None else seen
    return who.post("policies/payments/act", {"act": name, "seen": carried})


def publish(who: Reader, **said: str) -> None:
    assert keep(who, **said).status_code == 302
    assert act(who, "publish").status_code == 302


def stored(stage: Stage) -> list[dict[str, Any]]:
    with tenant_transaction(stage.tenant_id):
        rows = PolicyRevision.objects.order_by("created_at")
        return list(rows.values_list("definition", flat=True))


def test_a_policy_is_written_published_and_listed_in_words(
    stage: Stage, alice: Reader
) -> None:
    publish(alice)
    assert stored(stage) == [
        {
            "verdict": "require_review",
            "summary": "Large payments need two.",
            "selector": "tool == 'pay' && double(arguments.amount) >= 1000.0",
            "decide_within": 14_400,
            "reason": "always",
            "rules": [{"approvals": 2}],
        }
    ]
    (row,) = alice.get("policies").context["policies"].rows
    assert row.matching.words == "the tool is pay and amount is at least 1,000"
    assert row.who == "2 people who decide on Payments"
    assert (row.revision, row.state, row.by, row.draft) == (1, "on", "Alice", False)
    shown = alice.get("policies/payments").context["policy"]
    assert [(one.words, one.able) for one in shown.rules] == [(row.who, 2)]
    assert ("Time to decide", "4 h") in shown.rest
    assert [(one.author, one.note) for one in shown.history] == [
        ("Alice", "As the board asked.")
    ]


def test_there_is_none_yet(stage: Stage, alice: Reader) -> None:
    shown = alice.get("policies").context["policies"]
    assert (shown.rows, shown.empty.title) == ((), "No policy yet")
    assert alice.get("policies/none").status_code == 404
    assert alice.get("policies/none/edit").status_code == 200


@pytest.mark.parametrize(
    ("said", "field", "sentence"),
    [
        ({"selector": "tool == 'pay' &&"}, "selector", "Line 1, column 17."),
        ({"selector": "amount > 3"}, "selector", "There is no `amount`."),
        ({"approvals-0": "3"}, "rule-0", "It asks for 3 people; 2 could answer."),
        ({"approvals-0": "many"}, "rule-0", "A number from 1 to 20"),
        ({"approvals-0": "21"}, "rule-0", "A number from 1 to 20"),
        ({"decide_within": "4"}, "decide_within", "with a unit"),
        ({"decide_within": "400 days"}, "decide_within", "At most 366 days."),
        ({"queue": "nowhere"}, "queue", "There is no such queue."),
        ({"verdict": "maybe"}, "verdict", "Must satisfy enum"),
    ],
)
@pytest.mark.parametrize("button", ["keep", "try"])
def test_a_flaw_is_told_beside_its_field_and_nothing_is_lost(
    stage: Stage,
    alice: Reader,
    said: dict[str, str],
    field: str,
    sentence: str,
    button: str,
) -> None:
    answer = alice.post(
        "policies/payments/edit", {**PAYMENTS, **said, "act": button, "seen": ""}
    )
    assert answer.status_code == 422
    form = answer.context["form"]
    assert list(form.errors) == [field]
    assert sentence in form.errors[field]
    for name, text in {**PAYMENTS, **said}.items():
        if name not in {"rule", "approvals-0", "denials-0"}:
            assert getattr(form.typed, name) == text
    assert form.rules[0].approvals == {**PAYMENTS, **said}["approvals-0"]
    assert escape(sentence) in answer.content.decode()
    with tenant_transaction(stage.tenant_id):
        assert not Policy.objects.exists()


def test_rules_that_only_together_ask_for_too_many_are_refused(
    stage: Stage, alice: Reader
) -> None:
    """Bob would have to be two people."""
    group = stage.house.reviewers.id
    answer = keep(
        alice,
        **{
            "rule": "0",
            "approvals-0": "2",
            "groups-0": str(group),
            "selector": "true",
        },
    )
    assert answer.status_code == 302
    both = QueryDict(mutable=True)
    both.update({**PAYMENTS, "act": "keep", "seen": read(alice)})
    both.setlist("rule", ["0", "1"])
    both.update({"approvals-1": "1", "denials-1": "1", "members-1": str(stage.bob.id)})
    said: Any = both
    answer = alice.post("policies/payments/edit", dict(said.lists()))
    assert answer.status_code == 422
    assert answer.context["form"].errors == {
        "rules": "Together they ask for 3 different people; only 2 could answer."
    }


def test_rules_are_added_and_removed_without_losing_the_rest(alice: Reader) -> None:
    more = alice.post("policies/payments/edit", {**PAYMENTS, "act": "more"})
    form = more.context["form"]
    assert [one.approvals for one in form.rules] == ["2", "1"]
    assert form.typed.selector == PAYMENTS["selector"]
    less = alice.post("policies/payments/edit", {**PAYMENTS, "act": "drop-0"})
    assert less.context["form"].rules == ()


def test_a_definition_comes_back_from_its_form_as_it_was(
    stage: Stage, alice: Reader
) -> None:
    finance = create_group(
        tenant_id=stage.tenant_id, by=stage.house.alice.id, name="Finance"
    )
    definition = {
        "verdict": "deny",
        "selector": "tool == 'pay' &&\nrisk == 'high'",
        "rules": [
            {
                "approvals": 2,
                "denials": 2,
                "eligible": {"groups": [str(stage.house.reviewers.id)]},
            },
        ],
        "queue": "payments",
        "decide_within": 90_061,
        "use_within": 59,
        "wait": 0,
        "reauthentication": 300,
        "reason": "none",
        "editor_counts": False,
    }
    stage.policy("payments", **definition)
    form = alice.get("policies/payments/edit").context["form"]
    assert [one.label for one in form.rules[0].groups] == [finance.name, "Reviewers"]
    said: dict[str, Any] = {
        name: getattr(form.typed, name)
        for name in form.typed.__slots__
        if name != "rules"
    }
    said |= {"act": "keep", "rule": "0", "approvals-0": "2", "denials-0": "2"}
    said["groups-0"] = [one.value for one in form.rules[0].groups if one.chosen]
    said["selector"] = said["selector"].replace("\n", "\r\n")  # as browsers post it
    assert alice.post("policies/payments/edit", said).status_code == 302
    shown = alice.get("policies/payments").context["policy"]
    assert shown.draft.comparison.lines == ()


def test_a_draft_shows_what_it_would_change_before_it_is_published(
    stage: Stage, alice: Reader
) -> None:
    asked = stage.ask()
    small = stage.ask(arguments={"payee": "Bob", "amount": "1.00"})
    tried = alice.post(
        "policies/payments/edit", {**PAYMENTS, "act": "try", "limit": "2000"}
    )
    trial = tried.context["form"].trial
    assert (trial.examined, trial.matched, trial.changed) == (2, 1, 1)
    (row,) = trial.rows
    assert str(asked.id) in row.href
    told = {one.label: (one.before, one.after) for one in row.differences}
    assert told["Who must agree"] == (
        "1 person who decides on Payments",
        "2 people who decide on Payments",
    )
    assert told["Time to decide"] == ("1 day", "4 h")
    assert [(one.count, one.after) for one in trial.groups] == [
        ("1", "2 people who decide on Payments")
    ]
    assert "1 of the last 2 requests would have changed" in tried.content.decode()
    with tenant_transaction(stage.tenant_id):
        assert not Policy.objects.exists()

    keep(alice)
    kept = alice.get("policies/payments?try=500").context["policy"].trial
    assert [one.href for one in kept.rows] == [row.href]
    assert str(small.id) not in row.href


def test_revisions_are_compared_in_words_and_line_by_line(alice: Reader) -> None:
    publish(alice)
    publish(alice, **{"approvals-0": "1", "reason": ""})
    publish(alice, reason="none")
    shown = alice.get("policies/payments?revision=2&against=1").context["policy"]
    assert shown.revision == 2
    told = [(d.label, d.before, d.after, d.kind) for d in shown.comparison.differences]
    assert told == [
        (
            "Who must agree",
            "2 people who decide on Payments",
            "1 person who decides on Payments",
            "changed",
        ),
        ("A reason is needed", "for every answer", "", "removed"),
    ]
    lines = [(m, text.strip()) for m, text in shown.comparison.lines if m in "+-"]
    assert ("-", '"approvals": 2') in lines
    back = alice.get("policies/payments?revision=1&against=3").context["policy"]
    assert back.comparison.title == "From revision 3 to 1"
    assert [row.in_force for row in back.history] == [True, False, False]


def test_a_policy_is_taken_out_of_force_after_it_was_looked_at(alice: Reader) -> None:
    publish(alice)
    assert act(alice, "retire").status_code == 302
    shown = alice.get("policies/payments").context["policy"]
    assert (shown.state, shown.draft.retires) == ("on", True)
    act(alice, "publish")
    shown = alice.get("policies/payments").context["policy"]
    assert (shown.state, shown.draft, shown.acts) == ("off", None, ())


def test_where_two_are_asked_for_another_admin_publishes(
    stage: Stage, alice: Reader
) -> None:
    alone = alice.post("policies", {})
    assert alone.status_code == 409
    assert alone.context["policies"].notice.code == "no_second_admin"
    dora = reader(stage, fresh_member(stage.house.alice, "Dora", role=Role.ADMIN))
    assert dora.post("policies", {}).status_code == 403
    assert alice.post("policies", {}).status_code == 302
    keep(alice)
    mine = alice.get("policies/payments").context["policy"].draft
    assert [name for name, _ in mine.acts] == ["withdraw"]
    refused = act(alice, "publish")
    assert refused.status_code == 403
    assert refused.context["policy"].notice.code == "policy.own_draft"
    assert act(dora, "publish").status_code == 302
    (row,) = dora.get("policies/payments").context["policy"].history
    assert (row.author, row.cosigned_by) == ("Alice", "Dora")


def test_another_admin_cosigns_what_they_saw(stage: Stage, alice: Reader) -> None:
    publish(alice)
    dora = reader(stage, fresh_member(stage.house.alice, "Dora", role=Role.ADMIN))
    seen = dora.get("policies/payments").context["policy"]
    assert [name for name, _ in seen.acts] == ["cosign", "retire"]
    publish(alice, reason="none")
    assert act(dora, "cosign", seen=seen.seen).status_code == 409
    now = dora.get("policies/payments").context["policy"]
    assert act(dora, "cosign", seen=now.seen).status_code == 302
    first = dora.get("policies/payments").context["policy"].history[0]
    assert first.cosigned_by == "Dora"


def test_nobody_writes_over_what_they_did_not_read(stage: Stage, alice: Reader) -> None:
    keep(alice)
    late = keep(alice, seen="", summary="Mine.")
    assert late.status_code == 422
    assert late.context["form"].typed.summary == "Mine."
    assert "changed while you were reading" in late.content.decode()
    assert act(alice, "publish", seen="0" * 64).status_code == 409


def test_a_case_leads_to_the_revision_that_asked(stage: Stage, alice: Reader) -> None:
    publish(alice)
    asked = stage.ask()
    publish(alice, reason="none")
    (reason,) = alice.case(asked.id).policies
    assert reason.href.endswith("/policies/payments?revision=1")
    shown = alice.client.get(reason.href).context["policy"]
    assert (shown.revision, shown.state) == (1, "off")
    (reason,) = reader(stage).case(asked.id).policies
    assert reason.href == ""


def test_auditors_read_and_reviewers_do_not(stage: Stage, alice: Reader) -> None:
    publish(alice)
    eve = reader(stage, fresh_member(stage.house.alice, "Eve", role=Role.AUDITOR))
    bob = reader(stage)
    shown = eve.get("policies/payments").context["policy"]
    assert (shown.edit_href, shown.acts) == ("", ())
    assert eve.get("policies/payments/edit").status_code == 403
    assert act(eve, "retire", seen="").status_code == 403
    for path in ("policies", "policies/payments", "new-policy"):
        assert bob.get(path).status_code == 403
    labels = [item.label for item in bob.get("queue").context["shell"].nav]
    assert "Policies" not in labels
    labels = [item.label for item in eve.get("queue").context["shell"].nav]
    assert "Policies" in labels


def test_lists_cost_the_same_however_many_there_are(
    stage: Stage, alice: Reader, django_assert_max_num_queries: Any
) -> None:
    for number in range(3):
        stage.policy(f"policy-{number}")
        save_policy_draft(
            tenant_id=stage.tenant_id,
            by=stage.house.alice.id,
            name=f"draft-{number}",
            definition={"verdict": "deny"},
        )
    alice.get("policies")
    with django_assert_max_num_queries(24) as few:
        alice.get("policies")
    for number in range(3, 12):
        stage.policy(f"policy-{number}")
    with django_assert_max_num_queries(len(few)):
        alice.get("policies")


@pytest.mark.parametrize(
    ("selector", "words"),
    [
        ("true", "every action"),
        ("risk == 'critical'", "the risk is critical"),
        ("tool in ['pay', 'Pay now']", "the tool is pay or “Pay now”"),
        ("tool in [ 'a' , 'b', ]", "the tool is a or b"),
        ("arguments.n in [1, 2.5, -30]", "n is 1, 2.5 or -30"),
        ("!has(facts.checked)", "the fact checked is not given"),
        (
            "(tool == 'a' || tool == 'b') && arguments.n < -2.50",
            "(the tool is a or the tool is b) and n is below -2.50",
        ),
        (
            "risk == 'low' || tool == 'a' && !arguments.urgent",
            "the risk is low or (the tool is a and urgent is false)",
        ),
        ("target.startsWith('a && b')", "the target begins with “a && b”"),
        # What has no exact words is shown as it is.
        ("arguments.lines.exists(l, l.open)", ""),
        ("risk == 'low' ? true : tool == 'a'", ""),
        ("tool == 'a' && size(arguments) > 3", ""),
        ("!(tool == 'a' && risk == 'low')", ""),
        # Digits can be cut in more ways than there is time to try.
        (f"arguments.n in [{', '.join(['1' * 18] * 20)}, 1 + 1]", ""),
    ],
)
def test_selectors_in_words(selector: str, words: str) -> None:
    check_selector(selector)
    assert selector_words(selector) == words


def test_the_second_admin_is_told_of_on_the_list(stage: Stage, alice: Reader) -> None:
    fresh_member(stage.house.alice, "Dora", role=Role.ADMIN)
    assert alice.get("policies").context["policies"].ask_href
    ask_for_second_admin(tenant_id=stage.tenant_id, by=stage.house.alice.id, asked=True)
    shown = alice.get("policies").context["policies"]
    assert (shown.second_admin, shown.ask_href) == (True, "")


def test_rules_in_words(stage: Stage, alice: Reader) -> None:
    bob, carol = stage.bob.id, stage.reviewer("Carol").id
    stage.reviewer("Dagny")  # four different people are asked for
    group = {"groups": [str(stage.house.reviewers.id)]}
    people = {"members": sorted([str(bob), str(carol)])}
    stage.policy(
        "many",
        rules=[
            {"approvals": 2, "eligible": group, "denials": 2},
            {"eligible": {"members": [str(bob)]}},
            {"eligible": {**people, **group}},
        ],
    )
    shown = alice.get("policies/many").context["policy"]
    assert [(one.words, one.able) for one in shown.rules] == [
        ("2 people of Reviewers (2 rejections end it)", 4),
        ("Bob", 1),
        ("1 of Bob or Carol, in Reviewers", 2),
    ]


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({"groups-0": "not-an-id"}, "rule-0"),
        ({"members-0": "\x00"}, "rule-0"),
        ({"summary": "a\x00b"}, "summary"),
        ({"selector": "tool == '\x00'"}, "selector"),
        ({"queue": "\x00"}, "queue"),
        ({"decide_within": "٣ h"}, "decide_within"),
        ({"approvals-0": "٣"}, "rule-0"),
        ({"approvals-0": "0"}, "rule-0"),
        ({"summary": "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc"}, "summary"),
        ({"summary": "x" * 301}, "summary"),
        ({"selector": "(" * 400}, "selector"),
        ({"reason": "sometimes"}, "reason"),
    ],
)
@pytest.mark.parametrize("button", ["keep", "try"])
def test_a_hostile_form_is_refused_beside_the_field(
    stage: Stage, alice: Reader, said: dict[str, str], field: str, button: str
) -> None:
    answer = alice.post(
        "policies/payments/edit", {**PAYMENTS, **said, "act": button, "seen": ""}
    )
    assert answer.status_code == 422
    errors = answer.context["form"].errors
    assert list(errors) == [field]
    assert escape(errors[field]) in answer.content.decode()


def test_a_note_with_a_null_character_is_refused(alice: Reader) -> None:
    assert list(keep(alice, note="a\x00b").context["form"].errors) == ["note"]


def test_a_name_that_cannot_be_one_is_told_of_without_its_field(alice: Reader) -> None:
    said = {**PAYMENTS, "act": "keep", "seen": ""}
    answer = alice.post(f"policies/{'x' * 101}/edit", said)
    assert answer.status_code == 422
    assert "A name is one word" in answer.context["form"].error


def test_a_form_of_any_shape_is_answered(alice: Reader) -> None:
    for said in (
        {},
        {"act": "drop-x"},
        {"act": "drop-99", "rule": "x"},
        {"act": "more", "rule": "\x00"},
        {"act": "publish"},
        {"rule": ["0"] * 50, "verdict": "deny", "act": "more"},
        {"act": "try", "limit": "10" * 50, "verdict": "deny"},
    ):
        answer = alice.post("new-policy", said)  # type: ignore[arg-type]
        assert answer.status_code in {200, 422}, said
