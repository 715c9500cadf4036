"""Who changes a tenant's rights waits for the verbs that rely on them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, transaction
from django.db.utils import OperationalError

from kernel.problems import Problem
from kernel.scope import tenant_transaction
from tenants.models import Agent, AgentOwner, ApiKey, Group, Member, Role
from tenants.services import disable_agent
from tests.factories import House

CHANGES = {
    "member": (Member, {"role": Role.AUDITOR}),
    "group": (Group, {"name": "Renamed"}),
    "agent": (Agent, {"enabled": False}),
    "key": (ApiKey, {"scopes": []}),
    "owner": (AgentOwner, {"until": None}),
}


@contextmanager
def gate_shared(tenant_id: UUID) -> Iterator[None]:
    """A second connection that relies on the tenant's rights, as a decision does."""
    other = connection.copy()
    try:
        with other.cursor() as cursor:
            cursor.execute(
                "SELECT pg_advisory_lock_shared(keyturn_gate(%s))", [tenant_id]
            )
            yield
            cursor.execute("SELECT pg_advisory_unlock_all()")
    finally:
        other.close()


@contextmanager
def waits_for_the_gate() -> Iterator[None]:
    """The block must run into `lock_timeout`: somebody holds the gate."""
    with pytest.raises(OperationalError, match="lock timeout"):
        yield


def impatient() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL lock_timeout = '50ms'")


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_any_change_of_rights_waits_for_decisions_under_way(
    change: tuple[Any, dict[str, Any]], house: House
) -> None:
    model, values = change
    with gate_shared(house.id), waits_for_the_gate(), tenant_transaction(house.id):
        impatient()
        model.objects.filter(tenant_id=house.id).update(**values)


def test_a_sign_in_that_ends_waits_for_decisions_in_each_of_its_tenants(
    house: House,
) -> None:
    bob = type(house.bob.user).objects.filter(pk=house.bob.user.pk)
    with gate_shared(house.id), waits_for_the_gate(), transaction.atomic():
        impatient()
        bob.update(is_active=False)


def test_a_change_of_a_group_waits_for_decisions_in_its_tenant(house: House) -> None:
    users = type(house.bob.user).groups.through.objects
    with gate_shared(house.id), waits_for_the_gate(), transaction.atomic():
        impatient()
        users.filter(user_id=house.bob.user.pk).delete()


def test_the_gate_of_one_tenant_does_not_hold_up_another(house: House) -> None:
    with gate_shared(house.charlie.member.tenant_id):
        disable_agent(
            tenant_id=house.id, by=house.alice.id, agent_id=house.robot.agent.id
        )


def test_a_verb_that_cannot_get_the_gate_is_busy_not_broken(house: House) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '50ms'")
    try:
        with gate_shared(house.id), pytest.raises(Problem) as problem:
            disable_agent(
                tenant_id=house.id, by=house.alice.id, agent_id=house.robot.agent.id
            )
    finally:
        with connection.cursor() as cursor:
            cursor.execute("RESET lock_timeout")
    assert problem.value.code == "busy"
