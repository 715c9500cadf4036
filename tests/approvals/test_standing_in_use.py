"""What somebody agreed to beforehand, looked at again when the action begins."""

from typing import Any

import pytest

from approvals.models import Grant, StandingApproval
from checkpoints.services.tools import change_tool
from kernel.scope import tenant_transaction
from tenants.services import deactivate_member, remove_from_group
from tests.approvals.stage import SCHEMA, Stage
from tests.approvals.standing_stage import (
    PERMITS,
    S,
    age,
    asked,
    edit,
    end_it,
    made,
    permitting,
    use,
)


def fire(stage: Stage, _: StandingApproval) -> None:
    alice = stage.house.alice.id
    deactivate_member(tenant_id=stage.tenant_id, by=alice, member_id=stage.bob.id)


def demote(stage: Stage, _: StandingApproval) -> None:
    remove_from_group(
        tenant_id=stage.tenant_id,
        by=stage.house.alice.id,
        group_id=stage.house.reviewers.id,
        member_id=stage.bob.id,
    )


def redefine(stage: Stage, _: StandingApproval) -> None:
    change_tool(
        tenant_id=stage.tenant_id,
        by=stage.house.alice.id,
        tool_id=stage.tool.id,
        mode="agent",
        risk="high",
        definition={**stage.tool.definition, "schema": {**SCHEMA, "maxProperties": 9}},
    )


def forbid(stage: Stage, _: StandingApproval) -> None:
    stage.policy()


def narrow(stage: Stage, _: StandingApproval) -> None:
    stage.policy(standing={**PERMITS, "uses": 1})


def ask_two(stage: Stage, _: StandingApproval) -> None:
    stage.policy(rules=[{"approvals": 2}])


@pytest.mark.parametrize(
    ("change", "code", "after"),
    [
        (end_it, "standing_revoked", S.PENDING),
        (fire, "decider_inactive", S.PENDING),
        (demote, "decider_not_eligible", S.PENDING),
        (redefine, "tool_changed", S.PENDING),
        (forbid, "standing_not_permitted", S.PENDING),
        (narrow, "standing_not_permitted", S.PENDING),
        (ask_two, "policy_changed", S.PENDING),
        (age, "standing_expired", S.PENDING),
        (edit("uses = 900"), "standing_not_in_audit", S.REVOKED),
        (edit("used = 1"), "standing_not_in_audit", S.REVOKED),
        (edit("constraints = '[]'"), "standing_outside", S.PENDING),
        (
            edit("expires_at = expires_at + interval '1 h'"),
            "standing_not_in_audit",
            S.REVOKED,
        ),
        (
            edit("created_at = created_at + interval '1 h'"),
            "standing_not_in_audit",
            S.REVOKED,
        ),
    ],
)
def test_it_is_looked_at_again_when_the_action_begins(
    change: Any, code: str, after: str
) -> None:
    stage = permitting()
    standing = made(stage)
    request, run = asked(stage)
    assert request.state == S.APPROVED
    change(stage, standing)
    assert use(stage, request, run) == f"authority.{code}"
    assert stage.fresh(request).state == after
    with tenant_transaction(stage.tenant_id):
        assert not Grant.objects.filter(request=request, state="consumed").exists()
    if after == S.PENDING and change not in {forbid, narrow, ask_two}:
        # Nor does it answer what is asked from now on.
        assert asked(stage)[0].state == S.PENDING


def test_uses_that_were_taken_back_past_the_verbs_are_noticed() -> None:
    stage = permitting()
    standing = made(stage)
    assert use(stage, *asked(stage)) == ""
    pending = asked(stage)
    edit("used = 0")(stage, standing)
    assert use(stage, *pending) == "authority.standing_not_in_audit"


def test_what_was_revoked_past_the_verbs_does_not_come_back() -> None:
    stage = permitting()
    standing = made(stage)
    pending = asked(stage)
    end_it(stage, standing)
    edit("revoked_at = NULL, revoked_by_id = NULL, revoked_reason = ''")(
        stage, standing
    )
    assert use(stage, *pending) == "authority.standing_not_in_audit"
