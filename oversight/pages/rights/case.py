"""One request as of a time: what was owed for it, and who could give that."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from uuid import UUID

from approvals.envelope import Envelope
from approvals.models import PolicyRevision, Queue, Request, Revision
from approvals.policy import ActionSubject, Obligation, Rule, evaluate
from approvals.policy.evaluate import Statement, serves_itself
from approvals.policy.satisfy import missing
from kernel.canonical import definition_digest
from oversight.pages.rights.then import Then
from sessions.contract import Contract
from sessions.history import Moment, values_at


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


@dataclass(frozen=True)
class Case:
    """A request in one of its wordings, with the rights of that time."""

    then: Then
    request: Request
    revision: Revision
    envelope: Envelope
    queue: UUID

    def owed(self, obligation: Obligation) -> Owed:
        excluded = frozenset() if self.then.solo else self.side(obligation)
        rules = tuple(
            RuleThen(rule=rule, people=self.eligible(rule, self.queue) - excluded)
            for rule in obligation.rules
        )
        eligible = {one.rule: one.people for one in rules}
        anyone = sorted({id for one in rules for id in one.people})
        short = missing(obligation.rules, anyone, eligible)
        return Owed(obligation=obligation, rules=rules, excluded=excluded, short=short)

    @property
    def spoilt(self) -> int:
        """How many of the policies in force are not stored as they were signed."""
        return len(self.then.policies) - len(list(self._statements()))

    def judged(self) -> Obligation:
        """What the policies that were in force said about the action, on its facts."""
        action, request = self.envelope.action, self.request
        said = (one for one in self._statements() if not self._is_own(one))
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

    def queue_anew(self, obligation: Obligation) -> UUID:
        """Where it would have been seen. A default is today's: the log names none."""
        if obligation.queue == self.envelope.obligation.queue:
            return self.queue
        named = {"slug": obligation.queue} if obligation.queue else {"default": True}
        return Queue.objects.values_list("id", flat=True).filter(**named).first() or (
            self.queue
        )

    def eligible(self, rule: Rule, queue: UUID) -> frozenset[UUID]:
        who = rule.eligible
        people = self.then.holders(queue, who.permission)
        if who.groups:
            people &= self.then.in_groups(who.groups)
        if who.members:
            people &= who.members
        return people

    def side(self, obligation: Obligation) -> frozenset[UUID]:
        """Who asked, in whatever way: as `approvals.separation` has it for today."""
        asked = self.envelope.requester
        people = {UUID(owner) for owner in asked["owners"]}
        people |= self.then.owners_since(self.request.agent_id, self.request.created_at)
        if asked["key_creator"]:
            people.add(UUID(asked["key_creator"]))
        editor = self.revision.author_id
        if self.revision.author_type == "member" and not obligation.editor_counts:
            people |= {editor} if editor else set()
        return frozenset(people) | self._authors(obligation)

    def side_anew(self, obligation: Obligation) -> frozenset[UUID]:
        """The same, had it been asked for the first time at that time."""
        return self._owners_and_creator() | self._authors(obligation)

    def _owners_and_creator(self) -> frozenset[UUID]:
        owners = self.then.owners_since(self.request.agent_id, self.then.at)
        creator = self.request.key.created_by_id
        return owners | ({creator} if creator else set())

    def _authors(self, obligation: Obligation) -> frozenset[UUID]:
        named = {policy: number for policy, number, _ in obligation.policies}
        return self.then.lone_authors(named)

    def _is_own(self, statement: Statement) -> bool:
        if self.then.solo:
            return False
        return serves_itself(statement, self._owners_and_creator())

    def _statements(self) -> Iterable[Statement]:
        """Every policy that was in force, in a stable order, as its revision says.

        Not one whose row says other than what was signed: see `spoilt`.
        """
        for policy, (number, digest) in sorted(self.then.policies.items()):
            row = self._revisions.get((policy, number))
            if row is None or definition_digest(row.definition).hex() != digest:
                continue
            lone = (policy, number) not in self.then.cosigned
            author = self.then.authors.get((policy, number)) if lone else None
            yield Statement(policy, number, digest, row.definition, author)

    @cached_property
    def _revisions(self) -> Mapping[tuple[UUID, int], PolicyRevision]:
        rows = PolicyRevision.objects.filter(policy_id__in=list(self.then.policies))
        return {(row.policy_id, row.number): row for row in rows}

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
