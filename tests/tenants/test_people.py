"""Who belongs to a tenant: changed by its owners and admins alone, on the record."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import IntegrityError, connection

from audit.models import Entry
from kernel.ids import new_id
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from tenants.access import member_in, memberships
from tenants.checks import Operator
from tenants.models import Member, Role, Tenant
from tenants.services import (
    add_agent_owner,
    add_member,
    add_to_group,
    change_role,
    create_agent,
    create_group,
    deactivate_member,
    disable_agent,
    invite_member,
    issue_key,
    reactivate_member,
    remove_from_group,
    revoke_key,
    stop_tenant,
)
from tests.factories import House, Somebody, fresh_member, fresh_tenant, fresh_user


def kinds(house: House) -> list[str]:
    """What the tenant's chain says happened, in order."""
    with tenant_transaction(house.id):
        entries = Entry.objects.filter(tenant_id=house.id).order_by("seq")
        return list(entries.values_list("kind", flat=True))


def refused(code: str, verb: Callable[..., Any], **arguments: Any) -> None:
    with pytest.raises(Problem) as problem:
        verb(**arguments)
    assert problem.value.code == code


CHANGES: dict[str, Callable[[House, Any], Any]] = {
    "add_member": lambda house, by: add_member(
        tenant_id=house.id, by=by, user_id=fresh_user("New").id, role=Role.REVIEWER
    ),
    "invite_member": lambda house, by: invite_member(
        tenant_id=house.id,
        by=by,
        email=f"{new_id()}@example.test",
        name="New",
        role=Role.REVIEWER,
    ),
    "change_role": lambda house, by: change_role(
        tenant_id=house.id, by=by, member_id=house.bob.id, role=Role.AUDITOR
    ),
    "deactivate_member": lambda house, by: deactivate_member(
        tenant_id=house.id, by=by, member_id=house.bob.id
    ),
    "create_group": lambda house, by: create_group(
        tenant_id=house.id, by=by, name="Treasury"
    ),
    "remove_from_group": lambda house, by: remove_from_group(
        tenant_id=house.id,
        by=by,
        group_id=house.reviewers.id,
        member_id=house.bob.id,
    ),
    "create_agent": lambda house, by: create_agent(
        tenant_id=house.id, by=by, name="second", owners=[house.alice.id]
    ),
    "disable_agent": lambda house, by: disable_agent(
        tenant_id=house.id, by=by, agent_id=house.robot.agent.id
    ),
    "add_agent_owner": lambda house, by: add_agent_owner(
        tenant_id=house.id,
        by=by,
        agent_id=house.robot.agent.id,
        member_id=house.bob.id,
    ),
    "issue_key": lambda house, by: issue_key(
        tenant_id=house.id,
        by=by,
        agent_id=house.robot.agent.id,
        name="another",
        environment="test",
    ),
    "revoke_key": lambda house, by: revoke_key(
        tenant_id=house.id, by=by, key_id=house.robot.key.id
    ),
}
changes = pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())


@changes
def test_an_owner_may_and_it_is_on_the_record(change: Any, house: House) -> None:
    before = kinds(house)
    change(house, house.alice.id)
    after = kinds(house)
    assert after[: len(before)] == before
    assert len(after) > len(before)


@changes
def test_an_admin_may(change: Any, house: House) -> None:
    change(house, fresh_member(house.alice, "Ada", role=Role.ADMIN).id)


@changes
def test_the_operator_may(change: Any, house: House) -> None:
    change(house, Operator.CONSOLE)


@changes
@pytest.mark.parametrize("role", [Role.REVIEWER, Role.AUDITOR, Role.DEVELOPER])
def test_a_team_mate_may_not(change: Any, role: Role, house: House) -> None:
    mate = fresh_member(house.alice, "Mate", role=role)
    before = kinds(house)
    refused("not_permitted", change, house=house, by=mate.id)
    assert kinds(house) == before


@changes
def test_for_a_stranger_it_does_not_exist(change: Any, house: House) -> None:
    before = kinds(house)
    refused("not_found", change, house=house, by=house.charlie.id)
    refused("not_found", change, house=house, by=new_id())
    assert kinds(house) == before


@changes
def test_an_admin_who_was_deactivated_may_not(change: Any, house: House) -> None:
    ada = fresh_member(house.alice, "Ada", role=Role.ADMIN)
    deactivate_member(tenant_id=house.id, by=house.alice.id, member_id=ada.id)
    refused("not_found", change, house=house, by=ada.id)


@changes
def test_an_admin_whose_sign_in_was_ended_may_not(change: Any, house: House) -> None:
    ada = fresh_member(house.alice, "Ada", role=Role.ADMIN)
    ada.user.is_active = False
    ada.user.save(update_fields=["is_active"])
    refused("not_found", change, house=house, by=ada.id)


def test_a_superuser_of_the_site_is_a_stranger(house: House) -> None:
    house.charlie.user.is_superuser = True
    house.charlie.user.save(update_fields=["is_superuser"])
    refused("not_found", member_in, user=house.charlie.user, slug=house.tenant.slug)


@pytest.mark.parametrize(
    "verb", [deactivate_member, reactivate_member], ids=["deactivate", "reactivate"]
)
def test_a_strangers_member_is_out_of_reach(verb: Any, house: House) -> None:
    stranger = house.charlie.id
    refused(
        "not_found", verb, tenant_id=house.id, by=house.alice.id, member_id=stranger
    )


def test_only_an_owner_makes_and_unmakes_owners(house: House) -> None:
    ada = fresh_member(house.alice, "Ada", role=Role.ADMIN)
    here = {"tenant_id": house.id, "by": ada.id}
    refused("not_permitted", change_role, **here, member_id=ada.id, role=Role.OWNER)
    refused(
        "not_permitted",
        change_role,
        **here,
        member_id=house.alice.id,
        role=Role.AUDITOR,
    )
    refused("not_permitted", deactivate_member, **here, member_id=house.alice.id)
    refused(
        "not_permitted",
        add_member,
        **here,
        user_id=fresh_user("New").id,
        role=Role.OWNER,
    )


def test_the_last_owner_stays(house: House) -> None:
    alice = {"tenant_id": house.id, "by": house.alice.id, "member_id": house.alice.id}
    refused("last_owner", deactivate_member, **alice)
    refused("last_owner", change_role, **alice, role=Role.ADMIN)
    fresh_member(house.alice, "Second", role=Role.OWNER)
    change_role(**alice, role=Role.ADMIN)
    assert member_in(house.alice.user, house.tenant.slug).role is Role.ADMIN


def test_an_owner_who_cannot_sign_in_does_not_count_as_the_second(
    house: House,
) -> None:
    second = fresh_member(house.alice, "Second", role=Role.OWNER)
    second.user.is_active = False
    second.user.save(update_fields=["is_active"])
    refused(
        "last_owner",
        deactivate_member,
        tenant_id=house.id,
        by=house.alice.id,
        member_id=house.alice.id,
    )


def test_a_deactivated_member_is_a_stranger_until_they_are_back(house: House) -> None:
    bob = {"tenant_id": house.id, "by": house.alice.id, "member_id": house.bob.id}
    deactivate_member(**bob)
    assert memberships(house.bob.user) == []
    refused("lost_race", deactivate_member, **bob)
    reactivate_member(**bob)
    assert [each.slug for each in memberships(house.bob.user)] == [house.tenant.slug]


def test_memberships_of_someone_deactivated_are_none_even_if_loaded_before(
    house: House,
) -> None:
    type(house.bob.user).objects.filter(pk=house.bob.user.pk).update(is_active=False)
    assert house.bob.user.is_active
    assert memberships(house.bob.user) == []


def test_joining_twice_is_refused(house: House) -> None:
    refused(
        "already_so",
        add_member,
        tenant_id=house.id,
        by=house.alice.id,
        user_id=house.bob.user.id,
        role=Role.ADMIN,
    )


def test_a_group_holds_members_of_its_own_tenant_only(house: House) -> None:
    here = {"tenant_id": house.id, "by": house.alice.id}
    group = create_group(**here, name="Treasury")
    refused(
        "not_found",
        add_to_group,
        **here,
        group_id=group.id,
        member_id=house.charlie.id,
    )
    add_to_group(**here, group_id=group.id, member_id=house.bob.id)
    refused(
        "already_so", add_to_group, **here, group_id=group.id, member_id=house.bob.id
    )
    assert house.bob.user.groups.filter(pk=group.django_group_id).exists()
    remove_from_group(**here, group_id=group.id, member_id=house.bob.id)
    assert not house.bob.user.groups.filter(pk=group.django_group_id).exists()


def test_the_global_name_of_a_group_tells_nothing(house: House) -> None:
    group = create_group(tenant_id=house.id, by=house.alice.id, name="Treasury")
    with tenant_transaction(house.id):
        assert "treasury" not in group.django_group.name.lower()


def test_two_tenants_may_use_the_same_names(house: House) -> None:
    for owner in (house.alice, house.charlie):
        create_group(tenant_id=owner.member.tenant_id, by=owner.id, name="Treasury")
    refused(
        "name_taken",
        create_group,
        tenant_id=house.id,
        by=house.alice.id,
        name="Treasury",
    )


def test_a_stopped_tenant_changes_nothing(house: House) -> None:
    stop_tenant(tenant_id=house.id, by=house.alice.id)
    refused(
        "tenant_stopped",
        create_group,
        tenant_id=house.id,
        by=house.alice.id,
        name="Treasury",
    )


def solo(owner: Somebody) -> bool:
    with tenant_transaction(owner.member.tenant_id):
        return Tenant.objects.get(id=owner.member.tenant_id).solo


def test_the_second_member_ends_solo_for_good() -> None:
    tenant, alice, _ = fresh_tenant(solo=True)
    assert solo(alice)
    bob = fresh_member(alice, "Bob")
    assert not solo(alice)
    deactivate_member(tenant_id=tenant.id, by=alice.id, member_id=bob.id)
    assert not solo(alice)


def test_the_database_itself_keeps_solo_ended(house: House) -> None:
    with (
        pytest.raises(IntegrityError, match="solo has ended"),
        tenant_transaction(house.id),
    ):
        Tenant.objects.filter(id=house.id).update(solo=True)


def test_the_database_itself_refuses_a_second_solo_member() -> None:
    tenant, _, _ = fresh_tenant(solo=True)
    user = fresh_user("Bob")
    with (
        pytest.raises(IntegrityError, match="one active member"),
        tenant_transaction(tenant.id),
    ):
        Member.objects.create(tenant_id=tenant.id, user=user, role=Role.REVIEWER)


def test_outside_of_a_scope_nobody_is_a_member(house: House) -> None:
    assert not connection.in_atomic_block
    assert not Member.objects.filter(id=house.bob.id).exists()
