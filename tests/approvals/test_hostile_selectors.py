"""The worst that can be saved, on the worst that it may walk: it ends, in little room.

What is larger is not walked at all: tests.approvals.test_policy.
"""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from time import monotonic
from typing import Any

import pytest

from approvals.policy import ActionSubject, evaluate
from approvals.policy.evaluate import Statement
from approvals.policy.obligation import Verdict
from approvals.policy.patterns import counts
from approvals.policy.selector import MOST_ELEMENTS, MOST_STEPS, Sight, check_selector
from kernel.ids import new_id
from kernel.problems import Problem

LONGEST = 2.0  # seconds, on a machine that does other things as well
MOST_ROOM = 256 * 1024  # KiB that the process may have grown by
WEIGHT = MOST_STEPS // MOST_ELEMENTS
# Each element weighs 8; the rest of what may be walked is one long text.
TARGET = "x" * (WEIGHT - 8 * MOST_ELEMENTS - 200)
WORST = ActionSubject(
    tool="pay",
    arguments={"l": list(range(MOST_ELEMENTS))},
    target=TARGET,
    risk="high",
    environment="test",
    agent="robot",
    subject="s",
    facts={},
)


def doubled(term: str, length: int = 420) -> str:
    """The same term, added to itself as often as a selector has room for."""
    return " + ".join([term] * (length // (len(term) + 3)))


WALKS = [
    "arguments.l.all(a, arguments.l == arguments.l)",
    f"arguments.l.exists(a, ({doubled('target')}) == 'y')",
    f"arguments.l.exists(a, size({doubled('arguments.l')}) < a)",
    f"size(arguments.l.filter(a, ({doubled('target')}).contains('xy'))) == 0",
    "arguments.l.all(a, target.matches('(x+x+)+y'))",
    "arguments.l.all(a, !target.matches('^(.*x){20}y$'))",
    "arguments.l.exists_one(a, string(a) + target == target + string(a))",
]
GREEDY = [WALKS[1], WALKS[2], WALKS[3], f"size({doubled('arguments.l', 490)}) > 3"]
ALONE = [
    f"size({doubled('target', 490)}) > 3",
    f"size({doubled('arguments.l', 490)}) > 3",
    "target.matches('(.*x){99}(.*y){9}$')",
    "matches(target, r'(\\w{90}){90}')",
    "target.matches('((x{1,100}){1,100}){1,100}')",
    "target.matches('x{1000}{1000}')",
    "9223372036854775807 * 9223372036854775807 > 0",
    "1 / 0 > 0",
    "arguments.l[9223372036854775807] > 0",
    "arguments.l == arguments.l && arguments == arguments",
]


@contextmanager
def heartbeat() -> Iterator[list[float]]:
    """Another thread that wants to do something all the time: the gaps in that."""
    gaps, over = [0.0], Event()

    def beat() -> None:
        last = monotonic()
        while not over.wait(0.002):
            gaps.append(monotonic() - last)
            last = monotonic()

    thread = Thread(target=beat)
    thread.start()
    try:
        yield gaps
    finally:
        over.set()
        thread.join()


def room() -> int:
    """The most that this process has taken so far, in KiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def owed(selector: str, verdict: Verdict) -> Any:
    said = {"selector": selector, "verdict": verdict.value}
    return evaluate([Statement(new_id(), 1, "00", said)], WORST)


@pytest.mark.parametrize("selector", [*WALKS, *ALONE])
def test_it_ends_soon_in_little_room_and_lets_others_go_on(selector: str) -> None:
    check_selector(selector)
    before, began = room(), monotonic()
    with heartbeat() as gaps:
        found = {verdict: owed(selector, verdict) for verdict in Verdict}
    assert monotonic() - began < 3 * LONGEST
    assert max(gaps) < LONGEST
    assert room() - before < MOST_ROOM
    if not found[Verdict.ALLOW].policies and found[Verdict.DENY].policies:
        assert found[Verdict.DENY].verdict is Verdict.DENY  # it erred, and closed


def test_what_is_walked_here_is_as_large_as_may_be() -> None:
    walk = "arguments.l.exists(a, target == 'y')"
    assert Sight(WORST.variables()).too_much_for(walk) == ""
    larger = {**WORST.variables(), "target": TARGET + "x" * 1000}
    assert Sight(larger).too_much_for(walk) == "too large to be walked"


@pytest.mark.parametrize("selector", GREEDY)
def test_what_takes_everything_many_times_over_is_not_asked(selector: str) -> None:
    """The second ran for minutes, and let nothing else run meanwhile."""
    check_selector(selector)
    assert Sight(WORST.variables()).too_much_for(selector) != ""
    assert owed(selector, Verdict.ALLOW).policies == ()
    assert owed(selector, Verdict.DENY).verdict is Verdict.DENY


MANY = [
    rf"arguments.l.all(a, !target.matches(r'({chr(92)}w{chr(92)}w{chr(92)}w)+y'))",
    f"arguments.l.exists(a, string(a).matches('({'x' * 300})'))",
    r"arguments.l.all(a, !target.matches('(\\pL\134w)+y'))",
]


@pytest.mark.parametrize("selector", MANY)
def test_a_pattern_is_not_compiled_for_too_many(selector: str) -> None:
    """It is, anew for each element: sixty classes of letters took a minute and a half,
    and let nothing else run meanwhile."""
    check_selector(selector)
    few = {**WORST.variables(), "arguments": {"l": list(range(100))}}
    assert Sight(few).too_much_for(selector) == ""
    assert "matched" in Sight(WORST.variables()).too_much_for(selector)
    assert owed(selector, Verdict.ALLOW).policies == ()
    assert owed(selector, Verdict.DENY).verdict is Verdict.DENY


@pytest.mark.parametrize(
    "hidden",
    [r"x\x7b99\x7d", r"x\u007b99\u007D", r"x\U0000007b99}", r"x\17399\175", r"\x{99}"],
)
def test_a_repetition_is_counted_however_it_is_written(hidden: str) -> None:
    assert counts(f"target.matches('({hidden}){{9}}')") == 99 * 9


def test_many_policies_are_together_no_more_than_a_few() -> None:
    """Each is within what one may take; a tenant may have as many as it likes."""
    walk = "arguments.l.exists(a, target == 'y')"
    said = Statement(new_id(), 1, "00", {"selector": walk, "verdict": "allow"})
    sure = Statement(new_id(), 1, "00", {"selector": "true", "verdict": "allow"})
    deny = Statement(new_id(), 1, "00", {"selector": walk, "verdict": "deny"})
    assert evaluate([said] * 4 + [deny, sure], WORST).verdict is Verdict.ALLOW
    too_many = evaluate([said] * 9 + [deny, sure], WORST)
    assert too_many.verdict is Verdict.DENY
    assert sure.policy not in {policy for policy, _, _ in too_many.policies}


def test_what_is_small_is_added_up() -> None:
    small = ActionSubject(**{**vars_of(WORST), "arguments": {"l": [1]}, "target": "x"})
    said = {"selector": GREEDY[1], "verdict": "deny"}
    assert not Sight(small.variables()).too_much_for(GREEDY[1])
    assert evaluate([Statement(new_id(), 1, "00", said)], small)


def vars_of(action: ActionSubject) -> dict[str, Any]:
    return {name: getattr(action, name) for name in ActionSubject.__slots__}


@pytest.mark.parametrize(
    "selector",
    [
        f"size({doubled('target', 520)}) > 3",  # too long
        "arguments.l.all(a, arguments.l.all(b, a == b))",
        "arguments.l.map(a, arguments.l).size() > 0",
        "[arguments.l].all(a, a.all(b, true))",
        "arguments.l.filter(a, true).filter(b, true).size() > 0",
        "target.matches(arguments.pattern)",
        "matches(target, arguments.pattern)",
        "target.matches('x' + tool)",
        "target.matches('(?x)(x{ 9 0 }){ 9 0 }')",
        r"target.matches('\x28?i\u0078)x{ 9 0 }')",
    ],
)
def test_what_could_do_more_is_not_saved(selector: str) -> None:
    with pytest.raises(Problem) as refused:
        check_selector(selector)
    assert refused.value.code == "policy.selector_invalid"
