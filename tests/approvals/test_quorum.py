"""Twenty people turn the keys of a request that needs three, all at once.

One of them completes it, three keys have turned, and the others are told that they come
too late; in odd rounds ten people press twice each.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, get_ident

import pytest
from django.db import connection

from approvals.models import Decision, Grant, Request
from approvals.queries import current_revision
from approvals.services.case import Answer
from approvals.services.decide import decide
from audit.models import Entry
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from tests.approvals.stage import Stage, fresh_stage
from tests.factories import Somebody

PEOPLE = 20
KEYS = 3
LATE = frozenset({"already_decided", "answered_before"})

type Result = Request | Exception


def insistent(act: Callable[[], Request]) -> Result:
    """Again while there is only a crowd at the lock, as a client does after a 503."""
    while True:
        try:
            return act()
        except Exception as error:
            if not (isinstance(error, Problem) and error.code == "busy"):
                return error


class Crowd:
    """Threads with connections of their own, which all start at the same moment."""

    def __init__(self, stage: Stage, people: Sequence[Somebody]) -> None:
        self.stage, self.people = stage, people
        self._pool = ThreadPoolExecutor(max_workers=PEOPLE)

    def decide(self, request: Request, *, twice: bool) -> list[tuple[str, Result]]:
        """By whom, and what each was told."""
        half = [*self.people[: PEOPLE // 2]] * 2
        people = half if twice else self.people
        digest, start = self.stage.digest(request), Barrier(PEOPLE)
        answer = Answer(verdict=Decision.Verdict.APPROVE, digest=digest)

        def one(who: Somebody) -> tuple[str, Result]:
            start.wait(timeout=60)
            return str(who.id), insistent(
                lambda: decide(who.person, request_id=request.id, answer=answer)
            )

        return list(self._pool.map(one, people))

    def close(self) -> None:
        gone = Barrier(PEOPLE)

        def leave(_: int) -> None:
            gone.wait(timeout=60)
            connection.close()

        list(self._pool.map(leave, range(PEOPLE)))
        self._pool.shutdown()


@pytest.fixture(scope="module")
def enough_connections() -> Iterator[None]:
    """One for each thread: the process has fewer by itself, and lends them in turn."""
    pool = connection.pool  # type: ignore[attr-defined]
    if pool is None:
        yield
        return
    least, most = pool.min_size, pool.max_size
    pool.resize(least, PEOPLE + most)
    yield
    pool.resize(least, most)


@pytest.fixture(scope="module")
def crowd(enough_connections: None) -> Iterator[Crowd]:
    stage = fresh_stage()
    people = [stage.reviewer(f"Reviewer{at}") for at in range(PEOPLE)]
    stage.policy(rules=[{"approvals": KEYS}])
    gathered = Crowd(stage, people)
    try:
        yield gathered
    finally:
        gathered.close()


def flaws(crowd: Crowd, request: Request, told: list[tuple[str, Result]]) -> list[str]:
    """What is not as it must be after one round; nothing, if all is well."""
    accepted = [who for who, result in told if isinstance(result, Request)]
    refused = [result for _, result in told if isinstance(result, Exception)]
    odd = [e for e in refused if not (isinstance(e, Problem) and e.code in LATE)]
    with tenant_transaction(crowd.stage.tenant_id):
        now = Request.objects.get(id=request.id)
        counted = Decision.objects.filter(revision=current_revision(now))
        people = [str(one) for one in counted.values_list("member_id", flat=True)]
        grants = Grant.objects.filter(request=request)
        issued = Entry.objects.filter(
            kind="grant.issued", subject_id__in=grants.values("id")
        )
        entries = Entry.objects.filter(
            kind="decision.recorded", subject_id__in=counted.values("id")
        )
        seen = (now.state, grants.count(), issued.count(), entries.count())
    found = [repr(one) for one in odd]
    if sorted(people) != sorted(accepted) or max(Counter(people).values()) > 1:
        found.append(f"{people} stand there, {accepted} were told so")
    if seen != (Request.State.APPROVED, 1, 1, KEYS):
        found.append(f"state, grants, their entries, decisions' entries: {seen}")
    return found


def rounds(crowd: Crowd, count: int) -> list[str]:
    found = []
    for at in range(count):
        request = crowd.stage.ask()
        told = crowd.decide(request, twice=at % 2 == 1)
        found += [f"round {at}: {one}" for one in flaws(crowd, request, told)]
    return found


def test_three_of_twenty_complete_it_once(crowd: Crowd) -> None:
    assert rounds(crowd, 4) == []


@pytest.mark.long
def test_three_of_twenty_complete_it_once_500_times(crowd: Crowd) -> None:
    assert rounds(crowd, 500) == []


def test_without_its_locks_it_would_be_noticed(
    crowd: Crowd, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All have read that it is pending before the first of them writes.

    Whoever is told to come again has waited for the others already.
    """
    read, waited = Barrier(PEOPLE), set[int]()

    def unlocked(request_id: object) -> Request:
        found = Request.objects.get(id=request_id)
        if get_ident() not in waited:
            waited.add(get_ident())
            read.wait(timeout=60)
        return found

    monkeypatch.setattr("approvals.services.case.lock_scene_of", unlocked)
    assert rounds(crowd, 1) != []
    assert len(waited) == PEOPLE
