"""Sam, who stands to each of seven requests otherwise, and becomes everybody in turn.

Tess is a stranger to all of it, and may do all.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from approvals.models import Decision, Request
from approvals.resume.work import work
from approvals.services.break_glass import break_glass
from approvals.services.case import Answer
from approvals.services.decide import decide
from approvals.services.post_review import review_broken_glass
from approvals.services.queues import RIGHTS, give_right, take_right
from approvals.services.redeem import redeem
from approvals.services.remarks import assign, comment, release, take
from approvals.services.report import report_effect
from approvals.services.resolve import resolve_effect
from approvals.services.revoke import revoke
from approvals.services.snoozing import snooze, wake
from approvals.services.taking_back import take_back
from kernel.scope import tenant_transaction
from tenants.models import Role
from tenants.principal import Person
from tenants.services import (
    add_agent_owner,
    change_role,
    deactivate_member,
    end_agent_ownership,
)
from tests.approvals.glass_stage import WHY, GlassStage, give, glass_stage
from tests.approvals.stage import ARGUMENTS
from tests.approvals.test_resume import jobs_of
from tests.authorisation.rule import RELATIONS, Standing
from tests.factories import Machine, Somebody, fresh_agent, fresh_key, fresh_member

V = Decision.Verdict
LESS: Final = {**ARGUMENTS, "amount": "1.00"}


@dataclass(frozen=True, kw_only=True)
class Things:
    """What Sam may try to act on, of one relation. Digests are of what is asked now."""

    pending: Request
    digest: bytes
    answered: Request  # Sam has refused it, and one more would have to
    answered_digest: bytes
    approved: Request
    effect: UUID
    broken: UUID
    colleague: UUID  # who decides on the queue as well


@dataclass(frozen=True, kw_only=True)
class People:
    stage: GlassStage
    sam: Somebody
    tess: Somebody
    things: dict[str, Things]

    @property
    def person(self) -> Person:
        """Sam, who has just signed in."""
        return signed_in(self.sam)

    def become(self, who: Standing) -> None:
        """By the verbs that administrators use."""
        by: Any = {"tenant_id": self.stage.tenant_id, "by": self.stage.house.alice.id}
        if not who.role:
            deactivate_member(**by, member_id=self.sam.id)
            return
        change_role(**by, member_id=self.sam.id, role=Role(who.role))
        one: Any = {**by, "queue_id": self.stage.queue.id, "member_id": self.sam.id}
        for right in RIGHTS:
            (give_right if right in who.held else take_right)(**one, right=right)


def signed_in(somebody: Somebody) -> Person:
    return replace(somebody.person, authenticated_ago=1.0, methods=("password",))


def gather_people() -> People:
    stage = glass_stage()
    stage.permit(rules=[{"approvals": 1, "denials": 2}], editor_counts=False)
    sam = fresh_member(stage.house.alice, "Sam", role=Role.ADMIN)
    tess = fresh_member(stage.house.alice, "Tess")
    for one in (sam, tess):
        give(stage, one, *RIGHTS)
    people = People(stage=stage, sam=sam, tess=tess, things={})
    for relation in RELATIONS:
        asking = ASKING.get(relation, as_anybody)(people)
        people.things[relation] = _things(people, asking, relation)
    _since(people)
    return people


def _things(people: People, stage: GlassStage, relation: str) -> Things:
    def asked() -> Request:
        target = relation.replace(" ", "-")
        request = stage.ask(target=target, response_schema={"type": "string"})
        if relation == "editor":
            edit: Any = {"verdict": V.EDIT, "arguments": LESS, "reason": "Less."}
            stage.answer(request, by=people.sam, **edit)
        return request

    pending, answered, approved, broken = asked(), asked(), asked(), asked()
    stage.answer(answered, by=people.sam, verdict=V.REJECT, reason=WHY)
    stage.answer(approved)
    stage.smash(broken)
    return Things(
        pending=pending,
        digest=stage.digest(pending),
        answered=answered,
        answered_digest=stage.digest(answered),
        approved=approved,
        effect=_begun(stage, asked()),
        broken=stage.breaking(broken).id,
        colleague=stage.bob.id,
    )


def _begun(stage: GlassStage, request: Request) -> UUID:
    """The effect of one that its agent has begun, and lost sight of."""
    stage.answer(request)
    for job in jobs_of(stage, request):
        work(job.id)
    who = stage.house.robot.principal
    with tenant_transaction(stage.tenant_id):
        fence = Request.objects.select_related("run").get(id=request.id).run.fence
    effect = redeem(who, request_id=request.id, fence=fence).effect.id
    report_effect(who, effect_id=effect, attempt=1, fence=fence, outcome="unknown")
    return effect


def asking_with(stage: GlassStage, robot: Machine) -> GlassStage:
    return replace(stage, house=replace(stage.house, robot=robot))


def as_anybody(people: People) -> GlassStage:
    return people.stage


def as_owner(people: People) -> GlassStage:
    robot = fresh_agent(people.stage.house.alice, name="sams")
    _owning(people, robot, add_agent_owner)
    return asking_with(people.stage, robot)


def as_former_owner(people: People) -> GlassStage:
    robot = fresh_agent(people.stage.house.alice, name="once-sams")
    _owning(people, robot, add_agent_owner)
    return asking_with(people.stage, robot)


def _owning(people: People, robot: Machine, act: Callable[..., Any]) -> None:
    by: Any = {"tenant_id": people.stage.tenant_id, "by": people.stage.house.alice.id}
    act(**by, agent_id=robot.agent.id, member_id=people.sam.id)


def as_key_creator(people: People) -> GlassStage:
    robot = fresh_key(people.sam, people.stage.house.robot.agent)
    return asking_with(people.stage, robot)


def as_policy_author(people: People) -> GlassStage:
    _publish(people, "pinned", "policy-author")
    return people.stage


def _publish(people: People, name: str, target: str) -> None:
    by_sam = replace(people.stage, house=replace(people.stage.house, alice=people.sam))
    by_sam.policy(
        name, selector=f"target == '{target}'", break_glass=True, editor_counts=False
    )


def _since(people: People) -> None:
    """What becomes so only once all has been asked."""
    _publish(people, "since", "later-author")
    with tenant_transaction(people.stage.tenant_id):
        request = people.things["former owner"].pending
        agent = Request.objects.select_related("agent").get(id=request.id).agent
    by: Any = {"tenant_id": people.stage.tenant_id, "by": people.stage.house.alice.id}
    end_agent_ownership(**by, agent_id=agent.id, member_id=people.sam.id)


ASKING: Final[dict[str, Callable[[People], GlassStage]]] = {
    "owner": as_owner,
    "former owner": as_former_owner,
    "key creator": as_key_creator,
    "policy author": as_policy_author,
}


def answering(verdict: Decision.Verdict, **said: Any) -> Callable[..., Any]:
    def act(person: Person, things: Things, on_behalf_of: UUID | None = None) -> Any:
        answer = Answer(
            verdict=verdict,
            digest=things.digest,
            reason=WHY,
            on_behalf_of=on_behalf_of,
            **said,
        )
        return decide(person, request_id=things.pending.id, answer=answer)

    return act


ANSWERS: Final[dict[str, Callable[..., Any]]] = {
    "reject": answering(V.REJECT),
    "request changes": answering(V.REQUEST_CHANGES),
    "approve": answering(V.APPROVE),
    "respond": answering(V.RESPOND, response="Later."),
    "edit": answering(V.EDIT, arguments={**ARGUMENTS, "amount": "2.00"}),
}
ACTS: Final[dict[str, Callable[[Person, Things], Any]]] = {
    **ANSWERS,
    "comment": lambda person, on: comment(person, request_id=on.pending.id, text="Hm."),
    "snooze": lambda person, on: snooze(
        person, request_id=on.pending.id, length=timedelta(hours=1)
    ),
    "bring back": lambda person, on: wake(person, request_id=on.pending.id),
    "take": lambda person, on: take(person, request_id=on.pending.id),
    "assign": lambda person, on: assign(
        person, request_id=on.pending.id, to=on.colleague
    ),
    "release": lambda person, on: release(person, request_id=on.pending.id),
    "take back": lambda person, on: take_back(
        person, request_id=on.answered.id, digest=on.answered_digest
    ),
    "revoke": lambda person, on: revoke(person, request_id=on.approved.id, reason=WHY),
    "resolve": lambda person, on: resolve_effect(
        person, effect_id=on.effect, outcome="confirmed", evidence=WHY
    ),
    "break glass": lambda person, on: break_glass(
        person, request_id=on.pending.id, digest=on.digest, reason=WHY
    ),
    "look into a broken glass": lambda person, on: review_broken_glass(
        person, decision_id=on.broken, review="acknowledged", words=WHY
    ),
}
