"""Policies in words: selectors and rules as people say them."""

import pytest

from approvals.policy.selector import check_selector
from oversight.presentation.selector_words import selector_words
from tests.approvals.stage import Stage, fresh_stage
from tests.approvals.views.browsing import Reader, reader


@pytest.fixture
def stage() -> Stage:
    return fresh_stage()


@pytest.fixture
def alice(stage: Stage) -> Reader:
    return reader(stage, stage.house.alice)


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
