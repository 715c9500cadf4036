"""Agents and their keys: somebody always answers for them, and it stays on record."""

from typing import Any

import pytest

from audit.models import Entry
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from tenants.keys import parse, prefix_of
from tenants.models import AgentOwner
from tenants.services import (
    add_agent_owner,
    create_agent,
    create_group,
    end_agent_ownership,
    issue_key,
    revoke_key,
)
from tests.factories import House


def refused(code: str, verb: Any, **arguments: Any) -> None:
    with pytest.raises(Problem) as problem:
        verb(**arguments)
    assert problem.value.code == code


def test_an_agent_needs_somebody_who_answers_for_it(house: House) -> None:
    here = {"tenant_id": house.id, "by": house.alice.id}
    refused("agent_owner_needed", create_agent, **here, name="second", owners=[])
    refused(
        "agent_owner_needed",
        end_agent_ownership,
        **here,
        agent_id=house.robot.agent.id,
        member_id=house.alice.id,
    )


def test_a_stranger_cannot_be_made_to_answer(house: House) -> None:
    here = {"tenant_id": house.id, "by": house.alice.id}
    refused("not_found", create_agent, **here, name="second", owners=[house.charlie.id])
    refused(
        "not_found",
        add_agent_owner,
        **here,
        agent_id=house.robot.agent.id,
        member_id=house.charlie.id,
    )


def test_an_ownership_that_ended_stays_on_record(house: House) -> None:
    agent = {
        "tenant_id": house.id,
        "by": house.alice.id,
        "agent_id": house.robot.agent.id,
    }
    add_agent_owner(**agent, member_id=house.bob.id)
    refused("already_so", add_agent_owner, **agent, member_id=house.bob.id)
    end_agent_ownership(**agent, member_id=house.bob.id)
    refused("lost_race", end_agent_ownership, **agent, member_id=house.bob.id)
    add_agent_owner(**agent, member_id=house.bob.id)
    with tenant_transaction(house.id):
        spans = AgentOwner.objects.filter(member_id=house.bob.id).order_by("since")
        former, current = spans
    assert former.until is not None
    assert former.since < former.until <= current.since
    assert current.until is None


def test_who_issued_a_key_is_kept_with_it(house: House) -> None:
    assert house.robot.key.created_by_id == house.alice.id
    with tenant_transaction(house.id):
        entry = Entry.objects.get(kind="key.issued", subject_id=house.robot.key.id)
    assert entry.actor_id == str(house.alice.id)
    assert entry.data["agent"] == str(house.robot.agent.id)


def test_the_visible_part_of_a_key_follows_from_its_id(house: House) -> None:
    parsed = parse(house.robot.text)
    assert parsed is not None
    assert parsed.prefix == prefix_of(house.robot.key.id)


@pytest.mark.parametrize(
    ("flaw", "code"),
    [
        ({"scopes": ["decide"]}, "unknown_scope"),
        ({"environment": "Prod"}, "environment_invalid"),
        ({"name": " "}, "name_invalid"),
    ],
)
def test_a_key_with_a_flaw_is_not_issued(
    flaw: dict[str, Any], code: str, house: House
) -> None:
    key = {"name": "key", "environment": "test", **flaw}
    here = {"tenant_id": house.id, "by": house.alice.id}
    refused(code, issue_key, **here, agent_id=house.robot.agent.id, **key)


def test_a_key_is_revoked_once(house: House) -> None:
    key = {
        "tenant_id": house.id,
        "by": house.alice.id,
        "key_id": house.robot.key.id,
    }
    revoke_key(**key)
    refused("lost_race", revoke_key, **key)


@pytest.mark.parametrize(
    "name", ["", " ", "x" * 101, "a\nb", "Trea\u202esury", "a\u200bb", "\U000e0041"]
)
def test_a_name_is_one_visible_line(name: str, house: House) -> None:
    here = {"tenant_id": house.id, "by": house.alice.id}
    refused("name_invalid", create_group, **here, name=name)


@pytest.mark.parametrize("name", ["", "Robot", "a b", "-a", "a-", "x" * 64, "ä"])
def test_an_agents_name_can_be_part_of_an_address(name: str, house: House) -> None:
    here = {"tenant_id": house.id, "by": house.alice.id}
    refused("name_invalid", create_agent, **here, name=name, owners=[house.alice.id])
