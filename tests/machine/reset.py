"""A used world as good as new: what an episode changed is changed back, by verbs."""

from approvals.services.delegations import end_delegation
from approvals.services.policies import retire_policy
from approvals.services.queues import EVERYDAY, give_right, take_right
from approvals.services.recovery import end_recovery
from approvals.services.standing import revoke_standing
from checkpoints.definition import digest_of
from checkpoints.services.tools import change_tool
from tenants.services import (
    add_to_group,
    enable_agent,
    end_agent_ownership,
    reactivate_member,
    start_tenant,
)
from tests.machine.sight import Sight, find
from tests.machine.world import TOOLS, World, definition_of


def restore(world: World, sight: Sight) -> None:
    """Change back whatever is not as `fresh_world` made it."""
    tenant = {"tenant_id": world.tenant_id, "by": world.by}
    agent_id = world.robot.agent.id
    if sight.tenants[0].state != "active":
        start_tenant(**tenant)
    if sight.tenants[0].recovering_since is not None:
        end_recovery(**tenant, reason="Between episodes.")
    if not sight.agents[0].enabled:
        enable_agent(**tenant, agent_id=agent_id)
    for member in find(sight.members, active=False):
        reactivate_member(**tenant, member_id=member.id)
    for owner in find(sight.owners, until=None):
        if owner.member_id != world.by:
            end_agent_ownership(**tenant, agent_id=agent_id, member_id=owner.member_id)
    names = {one.policy_id: one.name for one in sight.policies}
    for policy in sight.in_force:
        retire_policy(**tenant, name=names[policy.policy])
    for away in find(sight.delegations, ended_at=None):
        if away.ends_at > sight.now:
            end_delegation(**tenant, delegation_id=away.id)
    _restore_rights(world, sight)
    _restore_tools(world, sight)
    for one in find(sight.standing, revoked_at=None):
        about = {"standing_id": one.id, "reason": "Between episodes."}
        revoke_standing(world.person("alice"), **about)
    for system in world.systems.values():
        system.forget()


def _restore_rights(world: World, sight: Sight) -> None:
    tenant = {"tenant_id": world.tenant_id, "by": world.by}
    group = {"group_id": world.reviewers_id}
    grouped = {one.user_id for one in sight.grouped}
    for member in sight.members:
        if member.user_id not in grouped:
            add_to_group(**tenant, **group, member_id=member.id)
    for right in EVERYDAY:
        about = {**tenant, "queue_id": world.queue_id, "right": right}
        if not find(sight.rights, right=right, whose="group"):
            give_right(**about, **group)
        for held in find(sight.rights, right=right, whose="user"):
            (member,) = find(sight.members, user_id=held.who)
            if (right, member.id) != ("resolve", world.people["erin"].id):
                take_right(**about, member_id=member.id)


def _restore_tools(world: World, sight: Sight) -> None:
    for name, (mode, _, _) in TOOLS.items():
        definition = definition_of(name, world.places[name])
        now = {"mode": mode, "risk": "medium", "definition": definition}
        (tool,) = find(sight.tools, name=name)
        if not tool.enabled or bytes(tool.digest) != digest_of(name=name, **now):
            change_tool(tenant_id=world.tenant_id, by=world.by, tool_id=tool.id, **now)
