"""What was asked lately, as policies see it: for the simulator. Inside the scope.

Everything is read in bulk: the sealed envelopes, and, only where a selector looks at
them, the facts as they were when each question was asked.
"""

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import batched
from typing import Any, Final
from uuid import UUID, uuid4

from django.db.models import F, Func, IntegerField

from approvals.envelope import UNREADABLE
from approvals.models import Policy, Request, Revision
from approvals.policy.evaluate import ActionSubject, Statement
from approvals.policy.trial import Asked, Trial, compare
from approvals.queries import statements
from kernel.canonical import definition_digest
from sessions.contract import Contract
from sessions.history import Moment, values_at
from sessions.models import Workflow
from tenants.models import Tenant

LIMITS: Final = (500, 2_000, 10_000)
SECONDS: Final = 5.0  # for the judging of all; what is left then is not examined
MOST_BYTES: Final = 64 * 1024 * 1024  # of envelopes; the rest is not examined either
STEP: Final = 2_000  # envelopes that one statement reads
TOLD: Final = 500  # requests that are judged between two words of progress
SIZE: Final = Func(F("envelope"), function="octet_length", output_field=IntegerField())
ASKED: Final = (
    "id",
    "revision",
    "risk",
    "run_id",
    "run__workflow_id",
    "agent__name",
    "created_at",
    "title",
)


type Progress = Callable[[int, int], None]
"""Told how many steps are done, of how many: a request is one to read, one to judge."""


def untold(_done: int, _total: int) -> None:
    """Nobody asked."""


@dataclass(frozen=True, slots=True)
class Lately:
    """One request as it was last asked; times are the database's.

    `envelope` is None where there was no room for it: see `MOST_BYTES`.
    """

    id: UUID
    revision: int
    risk: str
    run_id: UUID
    workflow_id: UUID
    agent: str
    asked_at: datetime
    title: str
    at: datetime
    envelope: bytes | None


@dataclass(frozen=True, slots=True)
class _Wording:
    id: UUID
    at: datetime
    size: int


def lately(limit: int, progress: Progress = untold) -> list[Lately]:
    """The newest requests, each in its current wording; newest first.

    Three statements, and one more for each `STEP`: as one, they were joined row by row
    wherever the planner had not heard yet how many there are.
    """
    rows = Request.objects.order_by("-created_at", "-id").values_list(*ASKED)[:limit]
    asked: list[tuple[Any, ...]] = list(rows)
    worded = _worded([one[0] for one in asked])
    known = [(one, worded[one[0], one[1]]) for one in asked if one[:2] in worded]
    sealed = _sealed(_with_room([wording for _, wording in known]), progress)
    values: list[tuple[Any, ...]] = [
        (*one, wording.at, sealed.get(wording.id)) for one, wording in known
    ]
    return [Lately(*each) for each in values]


def _worded(requests: Sequence[UUID]) -> dict[tuple[UUID, int], _Wording]:
    rows = Revision.objects.filter(request_id__in=requests).annotate(size=SIZE)
    return {
        (request, number): _Wording(id, at, size)
        for request, number, id, at, size in rows.values_list(
            "request_id", "number", "id", "created_at", "size"
        )
    }


def _with_room(wordings: Iterable[_Wording]) -> list[UUID]:
    """As many of the first as may be held at once."""
    found, held = [], 0
    for one in wordings:
        held += one.size
        if held > MOST_BYTES:
            break
        found.append(one.id)
    return found


def _sealed(revisions: Sequence[UUID], progress: Progress) -> dict[UUID, bytes]:
    found: dict[UUID, bytes] = {}
    for ids in batched(revisions, STEP, strict=False):
        progress(len(found), 2 * len(revisions))
        rows = Revision.objects.filter(id__in=ids).values_list("id", "envelope")
        found |= {id: bytes(envelope) for id, envelope in rows}
    return found


def with_draft(
    name: str, definition: Mapping[str, Any] | None, author: UUID | None
) -> tuple[list[Statement], list[Statement]]:
    """The policies in force, and the same once this is (None: without that policy)."""
    before = statements()
    policy = Policy.objects.filter(name=name).first()
    known = policy.id if policy else uuid4()
    kept = [one for one in before if one.policy != known]
    if definition is None:
        return before, kept
    drafted = _drafted(known, dict(definition), author)
    if len(kept) == len(before):
        return before, [*before, drafted]
    return before, [drafted if one.policy == known else one for one in before]


def _drafted(
    policy: UUID, definition: dict[str, Any], author: UUID | None
) -> Statement:
    digest = definition_digest(definition).hex()
    return Statement(policy, 0, digest, definition, author)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """All that a trial needs, read: judging it asks the database nothing."""

    before: Sequence[Statement]
    after: Sequence[Statement]
    requests: Sequence[Lately]
    facts: Mapping[UUID, dict[str, Any]]
    solo: bool

    def judge(self, seconds: float = SECONDS, progress: Progress = untold) -> Trial:
        """Every request under both sets, as far as the time and the room go."""
        end = time.monotonic() + seconds
        trial = compare(
            self.before,
            self.after,
            _told(
                _asked(self.requests, self.facts, solo=self.solo),
                len(self.requests),
                progress,
            ),
            is_late=lambda: time.monotonic() > end,
        )
        whole = all(one.envelope is not None for one in self.requests)
        return replace(trial, complete=trial.complete and whole)


def prepare(
    tenant_id: UUID,
    before: Sequence[Statement],
    after: Sequence[Statement],
    requests: Sequence[Lately],
) -> Prepared:
    """Read what policies may look at; in a few statements, however many requests."""
    solo = Tenant.objects.filter(id=tenant_id, solo=True).exists()
    facts = _facts(tenant_id, requests) if _look_at_facts(before, after) else {}
    return Prepared(
        before=before, after=after, requests=requests, facts=facts, solo=solo
    )


def _look_at_facts(*sets: Iterable[Statement]) -> bool:
    selectors = (one.definition.get("selector", "") for each in sets for one in each)
    return any("facts" in selector for selector in selectors)


def _facts(tenant_id: UUID, requests: Sequence[Lately]) -> dict[UUID, dict[str, Any]]:
    """As they were when it was asked, without those whose lifetime was over."""
    moments = [Moment(id=one.id, run_id=one.run_id, at=one.at) for one in requests]
    values = values_at(tenant_id, moments)
    used = {one.workflow_id for one in requests}
    contracts = {
        one.id: Contract.of(one) for one in Workflow.objects.filter(id__in=used)
    }
    return {
        one.id: {
            name: value
            for name, (value, age) in values.get(one.id, {}).items()
            if not contracts[one.workflow_id].has_lapsed(name, age)
        }
        for one in requests
    }


def _asked(
    requests: Iterable[Lately], facts: Mapping[UUID, dict[str, Any]], *, solo: bool
) -> Iterator[Asked]:
    for one in requests:
        read = read_asked(one, facts.get(one.id, {}))
        if read is not None:
            yield replace(read, side=frozenset()) if solo else read


def _told(asked: Iterable[Asked], total: int, progress: Progress) -> Iterator[Asked]:
    """The same, telling now and then how far it has come."""
    for at, one in enumerate(asked):
        if at % TOLD == 0:
            progress(total + at, 2 * total)
        yield one


def read_asked(request: Lately, facts: dict[str, Any]) -> Asked | None:
    """None for an envelope that somebody altered: nothing is known of what was asked."""
    if request.envelope is None:
        return None
    try:
        # No authority comes of it, so it is read as it was sealed, without proof.
        record = json.loads(request.envelope)
        asker = record["requester"]
        side = {*asker["owners"], *filter(None, [asker["key_creator"]])}
        return Asked(
            id=request.id,
            action=ActionSubject(
                tool=record["tool"]["name"],
                arguments=record["arguments"],
                target=record["target"],
                risk=request.risk,
                environment=asker["environment"],
                agent=request.agent,
                subject=asker["subject"],
                facts=facts,
            ),
            side=frozenset(map(UUID, side)),
        )
    except (RecursionError, *UNREADABLE):
        return None
