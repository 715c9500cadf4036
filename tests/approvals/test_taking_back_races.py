"""A key is taken back while the last one turns: one of both is first, and it counts.

Whoever comes second waits for the first at the request's lock, and finds what it did.
"""

from threading import Event

import pytest

from approvals.models import Decision, Grant, Request
from approvals.services.decide import ANSWERS, _approve
from approvals.services.taking_back import take_back
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from tests.approvals.stage import Stage, fresh_stage
from tests.approvals.test_authority_races import held_before_commit
from tests.concurrency import together
from tests.refusals import refused

ROUNDS = 6

type Result = Request | Exception


class Two:
    """Bob has turned one of two keys; Carol is about to turn the other."""

    def __init__(self) -> None:
        self.stage = fresh_stage()
        self.stage.policy(rules=[{"approvals": 2}])
        self.carol = self.stage.reviewer()
        self.ask()

    def ask(self) -> None:
        self.request = self.stage.ask()
        self.digest = self.stage.digest(self.request)
        self.stage.answer(self.request)

    def taken_back(self) -> Request:
        who, id = self.stage.bob.person, self.request.id
        return take_back(who, request_id=id, digest=self.digest)

    def last_key(self) -> Request:
        return self.stage.answer(self.request, self.carol, digest=self.digest)


@pytest.fixture(scope="module")
def two() -> Two:
    return Two()


def flaws(stage: Stage, request: Request, bob: Result, carol: Result) -> list[str]:
    """What does not fit what each was told; nothing, where one of both was first."""
    with tenant_transaction(stage.tenant_id):
        now = Request.objects.get(id=request.id)
        counted = Decision.objects.filter(request=request, dismissed_at=None).count()
        grants = Grant.objects.filter(request=request).count()
    seen = (now.state, counted, grants)
    late = isinstance(bob, Problem) and bob.code == "already_decided"
    fits = ("approved", 2, 1) if late else ("pending", 1, 0)
    told = isinstance(carol, Request) and (late or isinstance(bob, Request))
    return [] if told and seen == fits else [f"{seen}: {bob!r}, {carol!r}"]


def rounds(two: Two, count: int) -> tuple[list[str], set[str]]:
    """The flaws, and in what states it ended."""
    found, ends = [], set()
    for _ in range(count):
        two.ask()
        bob, carol = together(two.taken_back, two.last_key)
        found += flaws(two.stage, two.request, bob, carol)
        ends.add(two.stage.fresh(two.request).state)
    return found, ends


def test_one_of_both_is_first(two: Two) -> None:
    assert rounds(two, ROUNDS)[0] == []


@pytest.mark.long
def test_one_of_both_is_first_500_times_and_each_of_them_sometimes(two: Two) -> None:
    assert rounds(two, 500) == ([], {"pending", "approved"})


def test_the_last_key_finds_that_the_first_was_taken_back(two: Two) -> None:
    two.ask()
    with held_before_commit(two.taken_back):
        assert two.last_key().state == Request.State.PENDING
    with tenant_transaction(two.stage.tenant_id):
        assert not Grant.objects.filter(request=two.request).exists()


def test_whoever_takes_it_back_finds_that_it_was_the_last_but_one(two: Two) -> None:
    two.ask()
    with held_before_commit(two.last_key), refused("already_decided"):
        two.taken_back()
    with tenant_transaction(two.stage.tenant_id):
        kept = Decision.objects.filter(request=two.request, taken_back_by=None)
        assert kept.count() == 2


def test_pressed_twice_it_is_taken_back_once(two: Two) -> None:
    two.ask()
    results = together(two.taken_back, two.taken_back)
    codes = [one.code for one in results if isinstance(one, Problem)]
    assert codes == ["taken_back"]


def test_without_its_locks_it_would_be_noticed(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Carol has counted both keys when Bob takes his back; neither has committed."""
    two.ask()
    monkeypatch.setattr(
        "approvals.services.case.lock_scene_of", lambda id: Request.objects.get(id=id)
    )
    counted, gone = Event(), Event()

    def slowly(case: object, answer: object) -> None:
        _approve(case, answer)  # type: ignore[arg-type]
        counted.set()
        assert gone.wait(timeout=30)

    def meanwhile() -> Request:
        assert counted.wait(timeout=30)
        try:
            return two.taken_back()
        finally:
            gone.set()

    monkeypatch.setitem(ANSWERS, Decision.Verdict.APPROVE, slowly)
    bob, carol = together(meanwhile, two.last_key)
    assert flaws(two.stage, two.request, bob, carol) != []
