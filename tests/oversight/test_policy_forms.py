"""What is typed into a policy: flaws beside their fields, nothing lost, nothing odd kept."""

from html import escape
from typing import Any

import pytest
from django.http import QueryDict

from approvals.models import Policy
from kernel.scope import tenant_transaction
from tenants.services import create_group
from tests.approvals.stage import Stage, fresh_stage
from tests.approvals.views.browsing import Reader, reader
from tests.oversight.policy_pages import PAYMENTS, keep, read


@pytest.fixture
def stage() -> Stage:
    return fresh_stage()


@pytest.fixture
def alice(stage: Stage) -> Reader:
    return reader(stage, stage.house.alice)


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
        ({"verdict": "maybe"}, "verdict", "It must be one of"),
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
