"""Obligations: what matching policies owe together, as properties."""

from uuid import UUID

import pytest
from hypothesis import given, settings
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
from approvals.policy.obligation import DAY, HOUR, Verdict
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
        # What hides a comprehension from whoever counts them:
        "arguments.l.all// x\n(a, arguments.m.all(b, true))",
        r"r'\' == tool || arguments.l.all(a, arguments.m.all(b, true)) || tool == 'x'",
        "'''a'b''' == tool || arguments.l.all(a, true)",
        "arguments.l.`all`(a, true)",
        "arguments.l.existsOne(a, arguments.m.exists(b, b == a))",
        # What builds more than there was:
        "arguments.l.map(a, arguments.l) == []",
        # What errs for every action:
        "amount > 3",
        "arguments.amount.parse() > 3",
        "(" * 245 + "tool" + ")" * 245,
    ],
)
def test_unsafe_selectors_are_refused_when_saved(expression: str) -> None:
    with pytest.raises(Problem) as refused:
        check_selector(expression)
    assert refused.value.code == "policy.selector_invalid"
    assert refused.value.pointer == "/selector"


@pytest.mark.parametrize(
    ("expression", "place"),
    [
        ("tool ==", "Line 1, column 8."),
        ("tool == 'a' &&\n  risk === 'low'", "Line 2, column 10."),
        ("tool == 'amount' && amount > 3", "Line 1, column 21."),
        ("risk == 'low' &&\nnow() == 1", "Line 2, column 1."),
    ],
)
def test_a_flaw_is_told_with_its_line_and_column(expression: str, place: str) -> None:
    with pytest.raises(Problem) as refused:
        check_selector(expression)
    assert refused.value.detail.endswith(place)


@pytest.mark.parametrize(
    "expression",
    [
        "type(arguments.amount) == string && tool in ['a', 'b']",
        "arguments.lines.exists(line, double(line.each) > 10.0)",
        "size(arguments.lines.filter(one, one.open)) > 3",
        "has(facts.checked) && !facts.checked && target.startsWith('https://')",
        r"arguments.payee.matches(r'^[A-Z]\d+$') && session.subject != ''",
    ],
)
def test_what_can_be_used_is_taken(expression: str) -> None:
    check_selector(expression)


tokens = st.sampled_from(
    [
        *(
            "tool",
            "arguments",
            "facts",
            "nothing",
            "a",
            ".l",
            "['k']",
            "(",
            ")",
            "[",
            "]",
        ),
        *(".all(a, ", ".exists(b, ", ".map(c, ", ".filter(d, ", ".exists_one(e, "),
        *("&&", "||", "==", "!", "-", "+", "?", ":", "in", "'", '"', "r'", "//", "\n"),
        *("1", "2.0", "true", "'text'", "size(", "has(", "matches(", "{", "}", ","),
    ]
)
HOSTILE = ActionSubject(
    tool="pay",
    arguments={
        "l": [{"k": "b" * 200} for _ in range(1000)],
        "k": {str(n): n for n in range(1000)},
    },
    target="x" * 10_000,
    risk="high",
    environment="test",
    agent="robot",
    subject="s",
    facts={"l": [[n] * 10 for n in range(1000)]},
)


@settings(deadline=2_000)
@given(st.lists(tokens, max_size=30).map("".join) | st.text(max_size=600))
def test_any_text_is_refused_or_answers_in_time(expression: str) -> None:
    """Whatever is saved ends, for the largest of arguments, and never by a crash."""
    flaw = flaw_of(expression)
    if flaw is not None:
        assert (flaw.code, flaw.pointer) == ("policy.selector_invalid", "/selector")
        return
    for verdict in Verdict:
        said = statement(1, selector=expression, verdict=verdict)
        assert evaluate([said], HOSTILE).verdict in Verdict


@settings(deadline=2_000)
@pytest.mark.parametrize("walk", ["all", "exists", "exists_one", "filter"])
@given(
    st.sampled_from(
        [
            "arguments.l == arguments.l",
            "arguments.k[a.k] > 0",
            "target.matches('(x|y)*z')",
        ]
    )
)
def test_a_walk_over_large_arguments_is_refused_and_fails_closed(
    walk: str, body: str
) -> None:
    expression = f"arguments.l.{walk}(a, {body})" + (" == []" * (walk == "filter"))
    check_selector(expression)
    for verdict, matches in (
        ("allow", False),
        ("require_review", True),
        ("deny", True),
    ):
        said = statement(1, selector=expression, verdict=verdict)
        assert bool(evaluate([said], HOSTILE).policies) is matches


@given(statements)
def test_the_shortest_times_and_the_strictest_demands_hold(
    policies: list[Statement],
) -> None:
    owed = evaluate(policies, ACTION)
    matching = {policy for policy, _, _ in owed.policies}
    said = [one.definition for one in policies if one.policy in matching]
    for name, default in (("decide_within", DAY), ("use_within", HOUR)):
        assert getattr(owed, name) == min(
            (d.get(name, default) for d in said), default=default
        )
    assert owed.wait == max((d.get("wait", 0) for d in said), default=0)
    demands = ["none", "on_reject", "always"]
    asked = [demands.index(d.get("reason", "on_reject")) for d in said]
    assert owed.reason == demands[max(asked, default=1)]


@given(statements.map(lambda all_of: [never(one) for one in all_of]))
def test_no_match_never_allows(policies: list[Statement]) -> None:
    owed = evaluate(policies, ACTION)
    assert owed.policies == ()
    assert owed.verdict is Verdict.REQUIRE_REVIEW
    assert owed.approvals_needed == 1


@given(statements, st.sampled_from(["arguments.missing > 1", "tool + 1 == 2", "tool"]))
def test_an_allow_that_errs_changes_nothing(
    policies: list[Statement], selector: str
) -> None:
    erring = statement(99, verdict="allow", selector=selector)
    assert evaluate([*policies, erring], ACTION) == evaluate(policies, ACTION)


@given(statements, st.sampled_from(["arguments.missing > 1", "tool + 1 == 2", "tool"]))
def test_a_review_that_errs_is_as_if_it_matched(
    policies: list[Statement], selector: str
) -> None:
    """So nothing is let through by what else there is."""
    for verdict in ("require_review", "deny"):
        erring = statement(99, verdict=verdict, selector=selector)
        matching = statement(99, verdict=verdict, selector="true")
        owed = evaluate([*policies, erring], ACTION)
        assert owed == evaluate([*policies, matching], ACTION)
        assert owed.verdict is not Verdict.ALLOW


def flaw_of(expression: str) -> Problem | None:
    try:
        check_selector(expression)
    except Problem as refused:
        return refused
    return None


def never(policy: Statement) -> Statement:
    """The same, about another action."""
    said = {**policy.definition, "selector": "tool == 'another'"}
    return Statement(policy.policy, policy.revision, policy.digest, said)


def test_text_that_looks_like_a_comprehension_is_text() -> None:
    assert not has_nested_comprehension("tool == 'a.all(b.all(' && x.all(y, y)")
