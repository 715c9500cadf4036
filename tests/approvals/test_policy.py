"""Obligations: what matching policies owe together, as properties."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.policy import (
    ActionSubject,
    Eligible,
    Obligation,
    Rule,
    evaluate,
    satisfied,
)
from approvals.policy.evaluate import Statement
from approvals.policy.obligation import Verdict
from approvals.policy.satisfy import missing
from approvals.policy.selector import check_selector, has_nested_comprehension
from kernel.canonical import canonical_bytes
from kernel.problems import Problem
from kernel.strict_json import parse

ACTION = ActionSubject(
    tool="pay",
    arguments={"amount": 5},
    target=None,
    risk="high",
    environment="test",
    agent="robot",
    subject="s",
    facts={},
)
PEOPLE = [UUID(int=number) for number in range(6)]
GROUPS = [UUID(int=100 + number) for number in range(3)]


def statement(number: int, **definition: object) -> Statement:
    return Statement(UUID(int=number), 1, "00", dict(definition))


rules = st.builds(
    dict,
    eligible=st.builds(
        dict, groups=st.lists(st.sampled_from(list(map(str, GROUPS))), max_size=2)
    ),
    approvals=st.integers(1, 3),
)
definitions = st.fixed_dictionaries(
    {"verdict": st.sampled_from(["deny", "require_review", "allow"])},
    optional={
        "selector": st.sampled_from(
            ["true", "false", "risk == 'high'", "arguments.missing > 1"]
        ),
        "rules": st.lists(rules, max_size=2),
        "use_within": st.integers(1, 1000),
        "decide_within": st.integers(1, 1000),
        "wait": st.integers(0, 1000),
        "reason": st.sampled_from(["none", "on_reject", "always"]),
        "editor_counts": st.booleans(),
    },
)
statements = st.lists(definitions, max_size=4).map(
    lambda all_of: [statement(n, **one) for n, one in enumerate(all_of)]
)


def test_no_policy_asks_for_one_person() -> None:
    owed = evaluate([], ACTION)
    assert owed.verdict is Verdict.REQUIRE_REVIEW
    assert owed.approvals_needed == 1


GROUP_MEMBERS = {
    GROUPS[0]: frozenset(PEOPLE[:2]),
    GROUPS[1]: frozenset(PEOPLE[1:4]),
    GROUPS[2]: frozenset(PEOPLE[4:]),
}


def passes(owed: Obligation, people: list[UUID]) -> bool:
    """Whether these people's keys are enough, whoever is in which group."""
    eligible = {
        rule: frozenset(PEOPLE)
        if not rule.eligible.groups
        else frozenset().union(*(GROUP_MEMBERS[one] for one in rule.eligible.groups))
        for rule in owed.rules
    }
    return owed.verdict is not Verdict.DENY and satisfied(owed.rules, people, eligible)


@given(
    statements,
    definitions.filter(lambda one: one["verdict"] != "allow"),
    st.lists(st.sampled_from(PEOPLE), unique=True),
)
def test_a_further_deny_or_review_never_lets_more_pass(
    before: list[Statement], added: dict[str, object], people: list[UUID]
) -> None:
    old = evaluate(before, ACTION)
    new = evaluate([*before, statement(99, **added)], ACTION)
    strictness = list(Verdict)
    if not old.policies:
        return  # the default review steps back for what a policy says
    assert strictness.index(new.verdict) >= strictness.index(old.verdict)
    assert new.use_within <= old.use_within
    assert new.decide_within <= old.decide_within
    assert new.wait >= old.wait
    assert passes(old, people) or not passes(new, people)


@given(statements)
def test_obligations_survive_their_canonical_form(policies: list[Statement]) -> None:
    owed = evaluate(policies, ACTION)
    assert Obligation.from_json(parse(canonical_bytes(owed.as_json()))) == owed


@pytest.mark.parametrize(
    ("verdict", "matches"),
    [("allow", False), ("require_review", True), ("deny", True)],
)
def test_a_selector_that_errs_matches_only_where_that_is_stricter(
    verdict: str, matches: bool
) -> None:
    owed = evaluate([statement(1, selector="nothing.here", verdict=verdict)], ACTION)
    assert bool(owed.policies) is matches


@given(
    st.lists(
        st.builds(
            Rule,
            eligible=st.builds(
                Eligible, members=st.frozensets(st.sampled_from(PEOPLE), min_size=1)
            ),
            approvals=st.integers(1, 2),
        ),
        max_size=3,
        unique_by=lambda rule: rule.eligible,
    ),
    st.lists(st.sampled_from(PEOPLE), max_size=6),
)
def test_keys_are_counted_as_a_matching_of_people_to_slots(
    owed: list[Rule], people: list[UUID]
) -> None:
    """Against the definition by brute force: some assignment fills every slot."""
    eligible = {rule: rule.eligible.members for rule in owed}
    slots = [rule for rule in owed for _ in range(rule.approvals)]

    def fits(left: list[Rule], free: frozenset[UUID]) -> bool:
        if not left:
            return True
        return any(fits(left[1:], free - {one}) for one in free & eligible[left[0]])

    assert satisfied(owed, people, eligible) is fits(slots, frozenset(people))
    assert 0 <= missing(owed, people, eligible) <= len(slots)


def test_one_person_is_not_two() -> None:
    two = Rule(approvals=2)
    assert not satisfied([two], [PEOPLE[0], PEOPLE[0]], {two: frozenset(PEOPLE)})


@pytest.mark.parametrize(
    "expression",
    [
        "x" * 501,
        "arguments.l.all(a, arguments.m.exists(b, b == a))",
        "arguments.l.map(a, a).filter(b, b > 1)",
        "tool ==",
    ],
)
def test_unsafe_selectors_are_refused_when_saved(expression: str) -> None:
    with pytest.raises(Problem) as refused:
        check_selector(expression)
    assert refused.value.code == "policy.selector_invalid"
    assert refused.value.pointer == "/selector"


def test_text_that_looks_like_a_comprehension_is_text() -> None:
    assert not has_nested_comprehension("tool == 'a.all(b.all(' && x.all(y, y)")
