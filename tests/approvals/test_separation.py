"""Nobody turns a key for their own side, for whichever single reason they are on it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from approvals.models import Decision, Request
from approvals.services.policies import publish_policy
from tenants.models import Role
from tenants.services import add_agent_owner, end_agent_ownership
from tests.approvals.stage import ARGUMENTS, Stage, fresh_stage
from tests.approvals.test_resume import work_all
from tests.factories import Somebody, fresh_key, fresh_member
from tests.refusals import refused

V = Decision.Verdict


def admin(stage: Stage, name: str) -> Somebody:
    """A reviewer who also administers, and so far has nothing to do with the agent."""
    group = stage.house.reviewers
    return fresh_member(stage.house.alice, name, role=Role.ADMIN, group=group)


def own(stage: Stage, who: Somebody, act: Callable[..., Any] = add_agent_owner) -> None:
    house = stage.house
    agent = house.robot.agent.id
    act(tenant_id=house.id, by=house.alice.id, agent_id=agent, member_id=who.id)


def an_owner(stage: Stage, who: Somebody) -> tuple[Stage, Request]:
    own(stage, who)
    return stage, stage.ask()


def who_became_owner(stage: Stage, who: Somebody) -> tuple[Stage, Request]:
    request = stage.ask()
    own(stage, who)
    return stage, request


def who_was_owner_as_it_asked(stage: Stage, who: Somebody) -> tuple[Stage, Request]:
    own(stage, who)
    request = stage.ask()
    own(stage, who, end_agent_ownership)
    return stage, request


def whoever_made_the_key(stage: Stage, who: Somebody) -> tuple[Stage, Request]:
    robot = fresh_key(who, stage.house.robot.agent)
    with_key = replace(stage, house=replace(stage.house, robot=robot))
    return with_key, with_key.ask()


def the_policys_author(stage: Stage, who: Somebody) -> tuple[Stage, Request]:
    publish_policy(
        tenant_id=stage.tenant_id,
        by=who.id,
        name="own",
        definition={"verdict": "require_review"},
    )
    return stage, stage.ask()


def the_editor(stage: Stage, who: Somebody) -> tuple[Stage, Request]:
    stage.policy(editor_counts=False)
    request = stage.ask()
    edited = {**ARGUMENTS, "amount": "1.00"}
    stage.answer(request, by=who, verdict=V.EDIT, arguments=edited, reason="Less.")
    return stage, request


@pytest.mark.parametrize(
    "make",
    [
        an_owner,
        who_became_owner,
        who_was_owner_as_it_asked,
        whoever_made_the_key,
        the_policys_author,
        the_editor,
    ],
)
def test_one_reason_is_enough(make: Callable[..., tuple[Stage, Request]]) -> None:
    stage = fresh_stage()
    dave = admin(stage, "Dave")
    stage, request = make(stage, dave)
    with refused("own_request"):
        stage.answer(request, by=dave)
    assert stage.answer(request).state == Request.State.APPROVED


def test_whoever_changes_sides_after_approving_counts_no_more() -> None:
    stage = fresh_stage()
    dave, request = admin(stage, "Dave"), stage.ask()
    stage.answer(request, by=dave)
    own(stage, dave)
    assert work_all(stage, request) == ["authority.decider_not_eligible"]
    assert stage.fresh(request).state == Request.State.PENDING


def test_an_edit_leaves_no_key_turned() -> None:
    """Three are asked for; what one of them turned before the edit is gone."""
    stage = fresh_stage()
    stage.policy(rules=[{"approvals": 2}], editor_counts=False)
    carol, dave = stage.reviewer("Carol"), admin(stage, "Dave")
    request = stage.ask()
    stage.answer(request)
    edited = {**ARGUMENTS, "amount": "1.00"}
    stage.answer(request, by=carol, verdict=V.EDIT, arguments=edited, reason="Less.")
    assert stage.answer(request, by=dave).state == Request.State.PENDING
    assert stage.answer(request).state == Request.State.APPROVED
