"""Role, right, relation and verb, against the rule; nothing is ever committed.

The quick half asks every verb of every relation and of every standing; the long one asks
all of all.
"""

from collections.abc import Iterable, Iterator
from functools import partial

import pytest

from tenants.services import reactivate_member
from tests.authorisation.people import ACTS, People, gather_people
from tests.authorisation.registry import of_kind
from tests.authorisation.rehearsal import outcome, rehearsing
from tests.authorisation.rule import RELATIONS, STANDINGS, VERBS, Standing, expected
from tests.factories import fresh_house

type Case = tuple[str, Standing, str]
EVERY: list[Case] = [
    (verb, who, relation)
    for who in STANDINGS
    for verb in VERBS
    for relation in RELATIONS
]
STEP = 7

# What people do to a request, by the verb that does it; one verb may do several things.
OF_REQUESTS = {
    "approvals.services.break_glass.break_glass": {"break glass"},
    "approvals.services.decide.decide": {
        "approve",
        "edit",
        "reject",
        "request changes",
        "respond",
    },
    "approvals.services.post_review.review_broken_glass": {"look into a broken glass"},
    "approvals.services.remarks.assign": {"assign"},
    "approvals.services.remarks.comment": {"comment"},
    "approvals.services.remarks.release": {"release"},
    "approvals.services.remarks.take": {"take"},
    "approvals.services.resolve.resolve_effect": {"resolve"},
    "approvals.services.revoke.revoke": {"revoke"},
    "approvals.services.snoozing.snooze": {"snooze"},
    "approvals.services.snoozing.wake": {"bring back"},
    "approvals.services.taking_back.take_back": {"take back"},
}
# Persons' verbs about something else, with the tests that say whose they are.
OF_OTHERS = {
    "approvals.services.notifying.save_notice_settings": "tests/approvals/notices",
    "approvals.services.attention.abandon_run": "tests/oversight/test_attending.py",
    "approvals.services.attention.release_run": "tests/oversight/test_attending.py",
    "approvals.services.standing.make_standing": "tests/approvals/test_standing.py",
    "approvals.services.standing.revoke_standing": "tests/approvals/test_standing.py",
    **{
        f"approvals.services.saved_views.{verb}": "tests/approvals/test_saved_views.py"
        for verb in ("default_view", "delete_view", "rename_view", "save_view")
    },
    "oversight.services.exporting.record_export": "tests/oversight/test_audit_log.py",
    "oversight.services.verifying.ask_verification": "tests/flows/test_verifying.py",
}


@pytest.fixture(scope="module")
def people() -> People:
    return gather_people()


def quick() -> Iterator[Case]:
    """One in seven, so that every two of verb, standing and relation come together."""
    places = {one: at for at, one in enumerate(STANDINGS)}
    for verb, who, relation in EVERY:
        at = places[who] + VERBS.index(verb) + RELATIONS.index(relation)
        if at % STEP == 0:
            yield verb, who, relation


def wrong(people: People, cases: Iterable[Case]) -> list[str]:
    """The cases in which somebody is answered otherwise than by the rule."""
    found: list[str] = []
    became: Standing | None = None
    for verb, who, relation in cases:
        if who != became:
            people.become(who)
            became = who
        with rehearsing():
            act = partial(ACTS[verb], people.person, people.things[relation])
            was = outcome(act)
        right = expected(verb, who, relation)
        if was != right:
            found.append(f"{verb} by {who} as {relation}: {was}, and not {right}")
    return found


def test_the_rule_holds(people: People) -> None:
    by = {"tenant_id": people.stage.tenant_id, "by": people.stage.house.alice.id}
    try:
        assert wrong(people, quick()) == []
    finally:  # the last of them is one who left
        reactivate_member(**by, member_id=people.sam.id)  # type: ignore[arg-type]


@pytest.mark.long
def test_the_rule_holds_for_every_combination() -> None:
    assert wrong(gather_people(), EVERY) == []


def test_the_quick_half_leaves_no_two_apart() -> None:
    asked = list(quick())
    assert {(v, r) for v, _, r in asked} == {(v, r) for v in VERBS for r in RELATIONS}
    assert {(v, w) for v, w, _ in asked} == {(v, w) for v in VERBS for w in STANDINGS}
    assert {expected(*one) for one in asked} == {
        "may",
        "not_found",
        "not_permitted",
        "own_request",
    }


def test_a_rule_that_is_wrong_is_noticed(
    people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if owners could approve, and auditors could not look."""
    from tests.authorisation import rule

    monkeypatch.setitem(rule.EXCLUDED, "approve", rule.SIDE - {"owner"})
    monkeypatch.setattr(rule, "OVERSEERS", frozenset({"owner", "admin"}))
    one = Standing(role="reviewer", rights="decide")
    two = Standing(role="auditor", rights="none")
    cases = [("approve", one, "owner"), ("comment", two, "stranger")]
    assert len(wrong(people, cases)) == 2


def test_a_member_of_another_tenant_finds_none_of_it(people: People) -> None:
    owner = fresh_house().alice.person
    with rehearsing():
        for verb, act in ACTS.items():
            for relation, things in people.things.items():
                said = outcome(partial(act, owner, things))
                assert said == "not_found", (verb, relation)


def test_every_verb_of_persons_is_in_the_table() -> None:
    assert set(of_kind("person")) == {*OF_REQUESTS, *OF_OTHERS}
    assert set().union(*OF_REQUESTS.values()) == set(VERBS) == set(ACTS)
