"""Ways around asking people: what the time machine says of each time is what held then."""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from approvals.access import rights_on, visible_queues
from approvals.envelope import Envelope
from approvals.models import Decision, Request, StandingApproval
from approvals.queries import current_revision
from approvals.separation import standing
from approvals.services.break_glass import judge_breaking
from approvals.services.case import Sight
from approvals.services.taking_back import take_back
from checkpoints.services.tools import change_tool, turn_tool
from kernel.clock import database_now
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from oversight.pages.rights.answer import Answer, who_could_have
from tenants.models import Member, Role
from tenants.services import (
    add_agent_owner,
    add_to_group,
    change_role,
    end_agent_ownership,
    remove_from_group,
)
from tenants.verbs import Gate, perform
from tests.approvals.glass_stage import UNSAID, GlassStage, give, glass_stage, take
from tests.approvals.stage import Stage
from tests.approvals.standing_stage import (
    PERMITS,
    approved,
    asked,
    decision_of,
    edit,
    end_it,
    made,
    own,
    permitting,
    use,
)
from tests.approvals.superuser import superuser
from tests.approvals.views.browsing import reader
from tests.factories import Somebody
from tests.oversight.test_rights_then import asked as whole

type Step = Callable[[], Any]
V = Decision.Verdict


def walked[T](
    stage: Stage, request: Request, steps: Iterable[Step], live: Callable[[], T]
) -> list[tuple[T, Answer]]:
    """After each step what live rows say; and what is told of that time at the end."""
    seen: list[tuple[datetime, T]] = []
    for step in steps:
        step()
        with tenant_transaction(stage.tenant_id):
            at = database_now()
        seen.append((at, live()))
    with tenant_transaction(stage.tenant_id):
        found = whole(stage, request)
        return [(held, who_could_have(found, at)) for at, held in seen]


def turn(stage: Stage, enabled: bool) -> None:
    robot = stage.house.robot.principal
    about = {"tool_id": stage.tool.id, "enabled": enabled}
    perform(
        stage.tenant_id,
        lambda verb: turn_tool(verb, actor=robot.actor, **about),
        gate=Gate.EXCLUSIVE,
    )


def changed(stage: Stage, **definition: Any) -> None:
    tool = stage.fresh(stage.tool)
    change_tool(
        tenant_id=stage.tenant_id,
        by=stage.house.alice.id,
        tool_id=tool.id,
        mode=tool.mode,
        risk=tool.risk,
        definition={**tool.definition, **definition},
    )


def disowned(stage: Stage) -> None:
    end_agent_ownership(
        tenant_id=stage.tenant_id,
        by=stage.house.alice.id,
        agent_id=stage.house.robot.agent.id,
        member_id=stage.bob.id,
    )


def test_what_would_have_passed_without_a_person_at_each_time() -> None:
    """Asked anew after each step, it is answered by what the time machine names."""
    stage = permitting()
    request, ready = stage.ask(), [approved(stage), approved(stage)]
    agreed = list[StandingApproval]()
    group = {
        "tenant_id": stage.tenant_id,
        "by": stage.house.alice.id,
        "group_id": stage.house.reviewers.id,
        "member_id": stage.bob.id,
    }

    def agree(**terms: Any) -> None:
        agreed.append(made(stage, ready.pop() if ready else None, **terms))

    def anew() -> UUID | None:
        try:
            return decision_of(asked(stage)[0]).standing_id
        except (Problem, Decision.DoesNotExist):
            return None

    steps = [
        lambda: None,
        lambda: agree(seconds=3600),
        lambda: agree(seconds=60),  # the first to expire answers
        lambda: use(stage, *asked(stage)),
        lambda: use(stage, *asked(stage)),  # its last one
        lambda: stage.policy(standing={**PERMITS, "expires_within": 1800}),
        lambda: stage.policy(standing=PERMITS),
        lambda: stage.policy("another"),
        lambda: stage.policy("another", standing=PERMITS),
        lambda: remove_from_group(**group),
        lambda: add_to_group(**group),
        lambda: own(stage),
        lambda: disowned(stage),
        lambda: turn(stage, enabled=False),
        lambda: turn(stage, enabled=True),
        lambda: end_it(stage, agreed[0]),
        lambda: agree(seconds=120),
        lambda: changed(stage, title="Pays"),
    ]
    held = walked(stage, request, steps, anew)
    said = [
        next((one.id for one in told.standings if one.doubt is None), None)
        for _, told in held
    ]
    assert said == [answered for answered, _ in held]
    first, second = agreed[:2]
    assert {first.id, second.id, None} <= set(said)
    assert sum(one is None for one in said) >= len(steps) // 3


def test_one_that_is_over_or_altered_lets_nothing_through() -> None:
    stage = permitting()
    request, standing = stage.ask(), made(stage)

    def told(at: datetime) -> list[str | None]:
        with tenant_transaction(stage.tenant_id):
            found = who_could_have(whole(stage, request), at).standings
        return [one.doubt.code if one.doubt else None for one in found]

    instant = timedelta(microseconds=1)
    assert told(standing.created_at - instant) == []
    assert told(standing.expires_at - instant) == [None]
    assert told(standing.expires_at) == []
    edit("constraints = '[]'")(stage, standing)
    assert told(standing.expires_at - instant) == ["not_in_audit"]


def judged(stage: GlassStage, request: Request, who: Somebody) -> bool:
    """Whether this person could break it now, of live rows."""
    with tenant_transaction(stage.tenant_id):
        now = Request.objects.get(id=request.id)
        member = Member.objects.get(id=who.id)
        revision = current_revision(now)
        envelope = Envelope(bytes(revision.envelope))
        sight = Sight(
            person=who.person,
            member=member,
            request=now,
            revision=revision,
            envelope=envelope,
            standing=standing(now, revision, envelope, envelope.obligation),
            rights=rights_on(now.queue_id, member),
            now=database_now(),
        )
        try:
            judge_breaking(sight, digest=bytes(revision.digest), reason="Now.")
        except Problem as problem:
            if problem.code != "reauthentication_needed":
                return False
        return now.state == "pending" and now.queue_id in visible_queues(member)


def test_who_could_have_broken_the_glass_at_each_time() -> None:
    stage = glass_stage()
    bob, dave, house = stage.bob, stage.dave, stage.house
    carol = stage.reviewer()
    request = stage.ask()
    by = {"tenant_id": stage.tenant_id, "by": house.alice.id}
    owner = {**by, "agent_id": house.robot.agent.id, "member_id": dave.id}
    steps: list[Step] = [
        lambda: None,
        lambda: take(stage),
        lambda: give(stage, dave, "break_glass"),
        lambda: give(stage, bob, "break_glass"),
        lambda: give(stage, carol, "break_glass"),
        lambda: change_role(**by, member_id=dave.id, role=Role.AUDITOR),
        lambda: stage.permit(**UNSAID),
        lambda: stage.permit(),
        lambda: stage.permit("another", verdict="deny"),
        lambda: stage.permit("another"),
        lambda: stage.answer(request, bob, verdict=V.APPROVE),
        lambda: add_agent_owner(**owner),
        lambda: stage.smash(request, carol),
    ]

    def able() -> set[UUID]:
        return {one.id for one in (bob, carol, dave) if judged(stage, request, one)}

    held = walked(stage, request, steps, able)
    for number, (live, told) in enumerate(held):
        pending = told.state == "pending"
        assert (told.glass.people if pending else set()) == live, number
    assert [len(live) for live, _ in held] == [1, 0, 1, 2, 3, 3, 0, 3, 0, 3, 3, 2, 0]
    page = reader(stage, house.alice).get(f"requests/{request.id}/rights.json").json()
    assert page["break_glass"]["people"] == []
    assert page["break_glass"]["why_not"] == "It was approved by then."


def test_who_took_a_refusal_back_could_break_the_glass_again() -> None:
    stage = glass_stage()
    stage.permit(rules=[{"approvals": 2, "denials": 2}])
    request, bob = stage.ask(), stage.bob
    give(stage, bob, "break_glass")
    steps: list[Step] = [
        lambda: None,
        lambda: stage.answer(request, verdict=V.REJECT, reason="No."),
        lambda: take_back(
            bob.person, request_id=request.id, digest=stage.digest(request)
        ),
    ]
    held = walked(stage, request, steps, lambda: judged(stage, request, bob))
    assert [live for live, _ in held] == [True, False, True]
    assert [bob.id in told.glass.people for _, told in held] == [True, False, True]


def test_the_page_says_both_with_their_reasons() -> None:
    stage = permitting()
    request, standing = stage.ask(), made(stage)
    alice = reader(stage, stage.house.alice)
    path = f"requests/{request.id}/rights"
    shown = alice.get(path).content.decode()
    assert f"standing/{standing.id}" in shown
    assert "2 of 2" in shown
    assert "Nobody. Policy did not permit it." in shown
    said = alice.get(f"{path}.json").json()["agreed_beforehand"]
    assert [(one["id"], one["answers"]) for one in said] == [(str(standing.id), True)]


SPOILINGS = {
    "a policy's words": (
        "UPDATE approvals_policyrevision SET definition = '{}' WHERE tenant_id = %s",
        200,
    ),
    "the wording": (
        "UPDATE approvals_revision SET envelope = '\\x00' WHERE tenant_id = %s",
        422,
    ),
}


@pytest.mark.parametrize("spoiling", SPOILINGS)
def test_what_is_not_stored_as_it_was_signed_is_not_believed(spoiling: str) -> None:
    statement, status = SPOILINGS[spoiling]
    stage = permitting()
    request = approved(stage)
    with superuser() as connection:
        connection.execute(statement.encode(), [stage.tenant_id])
    answer = reader(stage, stage.house.alice).get(f"requests/{request.id}/rights")
    assert answer.status_code == status
    shown = answer.content.decode()
    assert "not stored as it was signed" in shown or 'id="at-error"' in shown
