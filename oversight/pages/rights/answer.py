"""Who could have approved a request at a time, and under which policies."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from approvals.envelope import Envelope
from approvals.models import Grant, PolicyRevision, Request, Revision
from approvals.policy import ActionSubject, Obligation, Rule, evaluate
from approvals.policy.evaluate import Statement, serves_itself
from approvals.policy.satisfy import missing
from audit.models import Entry
from kernel.problems import NOT_FOUND
from oversight.pages.rights.then import Then, rights_at
from sessions.contract import Contract
from sessions.history import Moment, values_at

OPENED: Final = frozenset({"request.asked", "request.revised"})
ENDED: Final = {
    "request.rejected": "rejected",
    "request.answered": "answered",
    "request.expired": "expired",
    "request.cancelled": "cancelled",
    "request.superseded": "superseded",
    "grant.issued": "approved",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleThen:
    """One rule, and who counted for it."""

    rule: Rule
    people: frozenset[UUID]


@dataclass(frozen=True, slots=True, kw_only=True)
class Owed:
    """What an obligation asked for, and who could give it. `short` keys could nobody."""

    obligation: Obligation
    rules: tuple[RuleThen, ...]
    excluded: frozenset[UUID]
    short: int

    @property
    def people(self) -> frozenset[UUID]:
        """Who counted for any of its rules."""
        return frozenset().union(*(one.people for one in self.rules))


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """`pinned` decided; `current` was asked as well when the approval was used.

    `state` is how the question stood: pending, or what had become of it.
    """

    then: Then
    request: Request
    revision: int
    digest: str
    state: str
    pinned: Owed
    current: Owed


def who_could_have(request: Request, at: datetime) -> Answer:
    """Inside the tenant's scope. Raises `not_found` for a time before it was asked.

    `request` comes with agent, key, run (with workflow) and session.
    """
    rows = Revision.objects.filter(request=request, created_at__lte=at)
    revision = rows.order_by("-number").first()
    if revision is None:
        raise NOT_FOUND("It had not been asked yet.")
    then = rights_at(request.tenant_id, at)
    envelope = Envelope(bytes(revision.envelope))
    case = _Case(then, request, revision, envelope, _queue(request, revision))
    return Answer(
        then=then,
        request=request,
        revision=revision.number,
        digest=bytes(revision.digest).hex(),
        state=_state(request, at),
        pinned=case.owed(envelope.obligation),
        current=case.owed(case.judged()),
    )


def _queue(request: Request, revision: Revision) -> UUID:
    """On which it was asked in those words: its signed entry says so."""
    rows = Entry.objects.filter(
        tenant_id=request.tenant_id, subject_id=request.id, kind__in=list(OPENED)
    )
    for said in rows.values_list("data", flat=True):
        if said["revision"] == revision.number and "queue" in said:
            return UUID(said["queue"])
    return request.queue_id


def _state(request: Request, at: datetime) -> str:
    """By the last entry that opened or closed the question."""
    grants = Grant.objects.filter(request=request).values_list("id", flat=True)
    rows = Entry.objects.filter(
        tenant_id=request.tenant_id,
        subject_id__in=[request.id, *grants],
        kind__in=[*OPENED, *ENDED],
        at__lte=at,
    )
    last = rows.order_by("-seq").values_list("kind", flat=True).first()
    return ENDED.get(last or "", "pending")


@dataclass(frozen=True, slots=True)
class _Case:
    then: Then
    request: Request
    revision: Revision
    envelope: Envelope
    queue: UUID

    def owed(self, obligation: Obligation) -> Owed:
        side = self._side(obligation)
        excluded = frozenset() if self.then.solo else side
        rules = tuple(
            RuleThen(rule=rule, people=self._eligible(rule) - excluded)
            for rule in obligation.rules
        )
        eligible = {one.rule: one.people for one in rules}
        anyone = sorted({id for one in rules for id in one.people})
        short = missing(obligation.rules, anyone, eligible)
        return Owed(obligation=obligation, rules=rules, excluded=excluded, short=short)

    def judged(self) -> Obligation:
        """What the policies that were in force said about the action, on its facts."""
        action, request = self.envelope.action, self.request
        said = (one for one in _statements(self.then) if not self._is_own(one))
        return evaluate(
            said,
            ActionSubject(
                tool=action.tool,
                arguments=action.arguments,
                target=action.target,
                risk=request.risk,
                environment=request.key.environment,
                agent=request.agent.name,
                subject=request.session.subject,
                facts=self._facts(),
            ),
        )

    def _eligible(self, rule: Rule) -> frozenset[UUID]:
        who = rule.eligible
        people = self.then.holders(self.queue, who.permission)
        if who.groups:
            people &= self.then.in_groups(who.groups)
        if who.members:
            people &= who.members
        return people

    def _side(self, obligation: Obligation) -> frozenset[UUID]:
        """Who asked, in whatever way: as `approvals.separation` has it for today."""
        asked = self.envelope.requester
        people = {UUID(owner) for owner in asked["owners"]}
        people |= self.then.owners_since(self.request.agent_id, self.request.created_at)
        if asked["key_creator"]:
            people.add(UUID(asked["key_creator"]))
        editor = self.revision.author_id
        if self.revision.author_type == "member" and not obligation.editor_counts:
            people |= {editor} if editor else set()
        pinned = {policy: number for policy, number, _ in obligation.policies}
        return frozenset(people) | self.then.lone_authors(pinned)

    def _is_own(self, statement: Statement) -> bool:
        if self.then.solo:
            return False
        owners = self.then.owners_since(self.request.agent_id, self.then.at)
        creator = self.request.key.created_by_id
        return serves_itself(statement, owners | ({creator} if creator else set()))

    def _facts(self) -> dict[str, object]:
        run = self.request.run
        moment = Moment(id=run.id, run_id=run.id, at=self.then.at)
        contract = Contract.of(run.workflow)
        found = values_at(run.tenant_id, [moment]).get(run.id, {})
        return {
            name: value
            for name, (value, age) in found.items()
            if not contract.has_lapsed(name, age)
        }


def _statements(then: Then) -> Iterable[Statement]:
    """Every policy that was in force, in a stable order, as its revision says."""
    rows = PolicyRevision.objects.filter(policy_id__in=list(then.policies))
    known: Mapping[tuple[UUID, int], PolicyRevision] = {
        (row.policy_id, row.number): row for row in rows
    }
    for one in sorted(then.policies.items()):
        row = known[one]
        author = None if one in then.cosigned else then.authors.get(one)
        yield Statement(
            row.policy_id, row.number, bytes(row.digest).hex(), row.definition, author
        )
