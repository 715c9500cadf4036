"""What an action is aimed at follows its arguments, whoever changes them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.envelope import Envelope
from approvals.models import Decision, Request, Revision
from approvals.services.revise import revise
from approvals.target import followed, stands_in
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from tests.approvals.stage import ARGUMENTS, Stage, fresh_stage
from tests.approvals.views.browsing import reader
from tests.refusals import refused

V = Decision.Verdict
MALLORY = {**ARGUMENTS, "payee": "Mallory Ltd"}

json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=2), inner, max_size=3)
    ),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("target", "before", "after", "now"),
    [
        ("a", {"to": "a"}, {"to": "b"}, "b"),
        ("a", {"to": ["x", "a"]}, {"to": ["x", "b"]}, "b"),
        ({"iban": "a", "n": 1}, {"to": {"iban": "a"}}, {"to": {"iban": "b"}}, None),
        ("a", {"to": "a"}, {}, None),
        ("a", {"to": "a", "also": "a"}, {"to": "b", "also": "b"}, "b"),
        ("c", {"to": "a"}, {"to": "b"}, "c"),
        (None, {"to": "a"}, {"to": "b"}, None),
        ("c", {"to": ["a", "c"]}, {"to": ["c"]}, "c"),  # a row taken out moves none
        ("c", {"to": ["a", "c"]}, {"to": ["a", "b", "c"]}, "c"),
        ("c", {"to": ["a", "c", "d"]}, {"to": ["a", "x", "d"]}, "x"),
    ],
)
def test_it_becomes_what_stands_there_now(
    target: Any, before: Any, after: Any, now: Any
) -> None:
    expected = {"iban": "b", "n": 1} if isinstance(target, dict) else now
    assert followed(target, before, after) == expected


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"to": "a", "from": "a"}, {"to": "b", "from": "a"}),
        ({"to": "a", "from": "a"}, {"to": 1, "from": True}),
        ({"to": "a", "from": "x"}, {"to": "b", "from": "a"}),  # it stands elsewhere
        ({"to": ["a", "c"]}, {"to": ["c", "a"]}),
        ({"to": "a"}, {"to": {"name": "b"}}),
    ],
)
def test_what_is_not_told_is_refused(before: Any, after: Any) -> None:
    with refused("arguments_invalid"):
        followed("a", before, after)


def test_it_never_grows_beyond_what_could_be_asked() -> None:
    """Four thousand times a text that becomes long would be a thousand megabytes."""
    target = ["a"] * 4_000
    assert followed(target, {"to": "a"}, {"to": "b"}) == ["b"] * 4_000
    with refused("arguments_invalid"):
        followed(target, {"to": "a"}, {"to": "b" * 250_000})


class Compared(str):
    """Counts how often it is compared with another."""

    times = 0

    def __eq__(self, other: object) -> bool:
        Compared.times += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def test_many_places_of_one_text_are_not_compared_with_each_other() -> None:
    count = 2_000
    after: list[Any] = [Compared(n) for n in range(count)]
    with refused("arguments_invalid"):
        followed("a", ["a"] * count, after)
    assert Compared.times < 10 * count


@given(json, json, json)
def test_nothing_that_is_aimed_at_no_more_is_named(
    target: Any, before: Any, after: Any
) -> None:
    assert followed(target, before, before) == target
    try:
        now = followed(target, before, after)
    except Problem:
        return
    if stands_in(target, before):
        assert stands_in(now, after)


def aimed_at(stage: Stage, request: Request) -> Any:
    with tenant_transaction(stage.tenant_id):
        current = Request.objects.get(id=request.id)
        found = Revision.objects.get(request_id=request.id, number=current.revision)
        return Envelope(bytes(found.envelope)).action.target


@pytest.fixture
def stage() -> Stage:
    return fresh_stage()


def test_an_edit_moves_it(stage: Stage) -> None:
    request, editor = stage.ask(target="Halden Paper Supply"), stage.reviewer()
    stage.answer(request, editor, verdict=V.EDIT, arguments=MALLORY, reason="So.")
    assert aimed_at(stage, request) == "Mallory Ltd"
    case = reader(stage).case(request.id)
    assert (case.exact.target, case.exact.target_is_older) == ("Mallory Ltd", False)
    assert case.desk is not None
    changed = [row.text for row in case.desk.recap if row.label == "Changed"]
    assert "payee: Mallory Ltd" in changed


def test_the_step_that_approves_tells_a_long_value_by_its_length(
    stage: Stage,
) -> None:
    """And what was taken out apart from a value that says so."""
    request = stage.ask(arguments={**ARGUMENTS, "lines": ["a"], "urgent": True})
    changed = {**ARGUMENTS, "lines": ["x" * 201]}
    editor = stage.reviewer()
    stage.answer(request, editor, verdict=V.EDIT, arguments=changed, reason="So.")
    desk = reader(stage).case(request.id).desk
    assert desk is not None
    told = {(row.label, row.text) for row in desk.recap}
    assert ("Changed", "lines/0, 201 characters") in told
    assert ("Taken out", "urgent") in told


def test_an_agents_revision_moves_it(stage: Stage) -> None:
    request = stage.ask(target="Halden Paper Supply")
    stage.answer(request, verdict=V.REQUEST_CHANGES, reason="To Mallory.")
    revise(stage.house.robot.principal, request_id=request.id, arguments=MALLORY)
    assert aimed_at(stage, request) == "Mallory Ltd"


def test_policy_is_asked_of_what_it_is_aimed_at_now(stage: Stage) -> None:
    stage.policy("two", selector="target == 'Mallory Ltd'", rules=[{"approvals": 2}])
    request, editor = stage.ask(target="Halden Paper Supply"), stage.reviewer()
    stage.answer(request, editor, verdict=V.EDIT, arguments=MALLORY, reason="So.")
    keys = reader(stage).case(request.id).keys
    assert keys is not None
    assert keys.needed == 2


def test_one_that_no_argument_says_is_marked_once_they_changed(stage: Stage) -> None:
    request, editor = stage.ask(target="the bank in Oslo"), stage.reviewer()
    assert not reader(stage).case(request.id).exact.target_is_older
    stage.answer(request, editor, verdict=V.EDIT, arguments=MALLORY, reason="So.")
    assert reader(stage).case(request.id).exact.target_is_older
    page = reader(stage).get(f"queue/{request.id}").content.decode()
    assert "The target is older than the arguments." in page


def test_the_comparison_tells_it(stage: Stage) -> None:
    request, bob = stage.ask(target="Halden Paper Supply"), reader(stage)
    form = {"/payee": "Mallory Ltd", "/amount": "1240.00", "/urgent": ""}
    said = {"digest": bob.case(request.id).exact.digest, "reason": "So.", **form}
    edit = bob.post(f"requests/{request.id}/edit", said).context["edit"]
    rows = {one.pointer: one.after for one in edit.differences}
    assert rows == {"/payee": "Mallory Ltd", "target": "Mallory Ltd"}


def test_one_that_cannot_follow_is_refused_at_both_steps(stage: Stage) -> None:
    arguments = {"payee": "Halden", "amount": "1.00", "lines": ["Halden"]}
    request, bob = stage.ask(arguments=arguments, target="Halden"), reader(stage)
    digest = bob.case(request.id).exact.digest
    form = {"/payee": "Mallory", "/amount": "1.00", "/lines/0": "Halden", "/urgent": ""}
    shown = bob.post(
        f"requests/{request.id}/edit", {"digest": digest, "reason": "So.", **form}
    )
    assert shown.status_code == 422
    kept = '{"amount":"1.00","lines":["Halden"],"payee":"Mallory"}'
    said = {"verdict": "edit", "digest": digest, "reason": "x", "arguments": kept}
    assert bob.post(f"requests/{request.id}/decide", said).status_code == 422
    assert stage.fresh(request).revision == 1
