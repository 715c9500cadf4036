"""A tenant's rows do not exist for the others: the database's word, not the ORM's."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.apps import apps
from django.db import (
    DatabaseError,
    IntegrityError,
    ProgrammingError,
    connection,
    connections,
    transaction,
)
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import ForeignKey, Model

from kernel.ids import new_id
from kernel.scope import NestedScope, tenant_transaction
from tenants.models import Agent, AgentOwner, ApiKey, Group, Member, Tenant
from tests.factories import House, fresh_house, fresh_user

# Sign-in identities and the framework's own tables. Nothing joins this list by accident.
GLOBAL = {
    "tenants_cache",
    "account_emailaddress",
    "account_emailconfirmation",
    "auth_group",
    "auth_group_permissions",
    "auth_permission",
    "django_content_type",
    "django_migrations",
    "django_session",
    "guardian_groupobjectpermission",
    "guardian_userobjectpermission",
    "mfa_authenticator",
    "tenants_tenant",
    "tenants_user",
    "tenants_user_groups",
    "tenants_user_user_permissions",
    "usersessions_usersession",
}
# The ledger's tables are written by its functions alone, and refer to no row.
LEDGER = {"audit_entry", "audit_head"}
POLICY = (
    "(tenant_id = (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid)"
)


def rows(sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return cursor.fetchall()


def tables() -> set[str]:
    return {
        name
        for (name,) in rows(
            "SELECT relname FROM pg_class WHERE relkind IN ('r', 'p')"
            " AND relnamespace = 'public'::regnamespace"
        )
    }


def owned() -> set[str]:
    return {
        name
        for (name,) in rows(
            "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid"
            " WHERE c.relkind IN ('r', 'p') AND a.attname = 'tenant_id'"
            " AND c.relnamespace = 'public'::regnamespace"
        )
    }


def tenant_models() -> list[type[Model]]:
    return [
        model
        for model in apps.get_models()
        if any(field.column == "tenant_id" for field in model._meta.local_fields)
    ]


@contextmanager
def owner() -> Iterator[BaseDatabaseWrapper]:
    """The owner's connection, for what the app role may not do."""
    try:
        yield connections["owner"]
    finally:
        connections["owner"].close()


# -- The catalogue ----------------------------------------------------------------------


def test_every_table_is_a_tenants_or_on_the_list() -> None:
    assert tables() - owned() == GLOBAL


def test_every_tenants_table_is_under_forced_row_security() -> None:
    exempt = rows(
        "SELECT relname FROM pg_class WHERE relname = ANY(%s)"
        " AND NOT (relrowsecurity AND relforcerowsecurity)",
        [*owned(), "tenants_tenant"],
    )
    assert exempt == []


def test_every_tenants_table_checks_what_is_read_and_what_is_written() -> None:
    policies = {
        table: (command, roles, using, check)
        for table, command, roles, using, check in rows(
            "SELECT tablename, cmd, roles::text[], qual, with_check FROM pg_policies"
            " WHERE policyname = 'tenant'"
        )
    }
    for table in owned() - LEDGER:
        assert policies[table] == ("ALL", ["public"], POLICY, POLICY), table
    assert policies["tenants_tenant"][2] == POLICY.replace("tenant_id", "id")
    assert policies["tenants_tenant"][3] == POLICY.replace("tenant_id", "id")


def test_no_other_policy_lets_the_app_role_in() -> None:
    others = rows(
        "SELECT tablename, policyname, roles::text[], cmd FROM pg_policies"
        " WHERE policyname <> 'tenant' AND tablename <> ALL(%s)",
        list(LEDGER),
    )
    assert others
    for table, name, roles, command in others:
        assert command == "SELECT", (table, name)
        assert set(roles) <= {"keyturn_lookup", "keyturn_relay"}, (table, name)


def test_every_tenants_table_has_the_unique_that_foreign_keys_need() -> None:
    unique = {
        table
        for table, columns in rows(
            "SELECT c.conrelid::regclass::text, array_agg(a.attname ORDER BY k.n)::text[]"
            " FROM pg_constraint c, unnest(c.conkey) WITH ORDINALITY k(attnum, n)"
            " JOIN pg_attribute a ON true WHERE c.contype = 'u'"
            " AND a.attrelid = c.conrelid AND a.attnum = k.attnum GROUP BY c.oid"
        )
        if columns == ["tenant_id", "id"]
    }
    assert owned() - LEDGER <= unique


def test_every_reference_within_a_tenant_is_composite() -> None:
    composite = {
        (table, tuple(columns), target)
        for table, columns, target in rows(
            "SELECT c.conrelid::regclass::text, array_agg(a.attname ORDER BY k.n)::text[],"
            " c.confrelid::regclass::text"
            " FROM pg_constraint c, unnest(c.conkey) WITH ORDINALITY k(attnum, n)"
            " JOIN pg_attribute a ON true WHERE c.contype = 'f'"
            " AND a.attrelid = c.conrelid AND a.attnum = k.attnum GROUP BY c.oid"
        )
    }
    checked = 0
    owned_models = set(tenant_models())
    for model in owned_models:
        for field in model._meta.local_fields:
            if isinstance(field, ForeignKey) and field.related_model in owned_models:
                target = field.related_model._meta.db_table
                key = (model._meta.db_table, ("tenant_id", field.column), target)
                assert key in composite, key
                checked += 1
    assert checked > 20


def test_no_unique_constraint_spans_tenants() -> None:
    """It would answer whether another tenant has such a row."""
    spanning = rows(
        "SELECT t.relname, i.relname FROM pg_index x"
        " JOIN pg_class t ON t.oid = x.indrelid JOIN pg_class i ON i.oid = x.indexrelid"
        " WHERE x.indisunique AND NOT x.indisprimary AND t.relname = ANY(%s)"
        " AND NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = t.oid"
        "   AND a.attname = 'tenant_id' AND a.attnum = ANY(x.indkey::int2[]))",
        list(owned()),
    )
    # Opaque by construction: the id of a Django group that no two tenants share.
    assert spanning == [("tenants_group", "tenants_group_django_group_id_key")]


def test_definer_functions_are_pinned_and_owned_by_roles_that_cannot_sign_in() -> None:
    found = rows(
        "SELECT p.proname, r.rolname, r.rolcanlogin, r.rolsuper, r.rolbypassrls,"
        " array_to_string(p.proconfig, ',') FROM pg_proc p"
        " JOIN pg_roles r ON r.oid = p.proowner"
        " WHERE p.prosecdef AND p.pronamespace = 'public'::regnamespace"
    )
    assert found
    for name, role, can_login, is_super, bypasses, config in found:
        assert role in {"keyturn_lookup", "keyturn_ledger"}, name
        assert (can_login, is_super, bypasses) == (False,) * 3, name
        assert "search_path=" in (config or "").replace(" ", ""), name
        assert '"$user"' not in config, name


def test_look_ups_return_ids_and_a_persons_own_memberships_only() -> None:
    returned = dict(
        rows(
            "SELECT p.proname, pg_get_function_result(p.oid) FROM pg_proc p"
            " JOIN pg_roles r ON r.oid = p.proowner WHERE r.rolname = 'keyturn_lookup'"
            " AND has_function_privilege('keyturn_app', p.oid, 'EXECUTE')"
        )
    )
    assert returned == {
        "keyturn_key": "TABLE(tenant_id uuid, agent_id uuid, key_id uuid)",
        "keyturn_memberships": "TABLE(tenant_id uuid, slug character varying,"
        " name character varying, member_id uuid, role character varying)",
        "keyturn_any_tenant": "boolean",
        "keyturn_entrances": "TABLE(tenant_id uuid, passwords boolean,"
        " identities uuid[])",
        "keyturn_single_sign_on": "uuid",
        "keyturn_job_tenant": "uuid",
        "keyturn_delivery_tenant": "uuid",
        "keyturn_invitation_tenant": "uuid",
        "keyturn_mail_tenant": "uuid",
    }


def test_the_app_role_is_a_member_of_nothing_and_owns_nothing() -> None:
    assert rows("SELECT current_user, session_user") == [("keyturn_app",) * 2]
    assert rows(
        "SELECT rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolreplication"
        " FROM pg_roles WHERE rolname = 'keyturn_app'"
    ) == [(False,) * 5]
    assert not rows(
        "SELECT roleid::regrole FROM pg_auth_members"
        " WHERE member = 'keyturn_app'::regrole"
    )
    assert not rows(
        "SELECT relname FROM pg_class WHERE relowner = 'keyturn_app'::regrole"
    )
    assert rows("SELECT has_schema_privilege('public', 'CREATE')") == [(False,)]


def test_there_are_no_views_that_could_look_past_the_policies() -> None:
    assert not rows(
        "SELECT relname FROM pg_class WHERE relkind IN ('v', 'm')"
        " AND relnamespace = 'public'::regnamespace"
    )


# -- The behaviour ----------------------------------------------------------------------


@pytest.mark.parametrize("model", [Member, Group, Agent, AgentOwner, ApiKey, Tenant])
def test_without_a_filter_there_are_still_no_foreign_rows(
    model: type[Model], house: House
) -> None:
    with tenant_transaction(house.charlie.member.tenant_id):
        column = "id" if model is Tenant else "tenant_id"
        seen = set(model._default_manager.values_list(column, flat=True))
        assert seen <= {house.charlie.member.tenant_id}
    with tenant_transaction(house.id):
        assert model._default_manager.exists()


def test_outside_of_a_scope_there_are_no_rows_at_all(house: House) -> None:
    for model in tenant_models():
        if model._meta.managed:
            assert not model._default_manager.exists(), model
    assert not Tenant.objects.exists()


def test_a_foreign_row_is_neither_changed_nor_deleted_nor_taken_over(
    house: House,
) -> None:
    with tenant_transaction(house.charlie.member.tenant_id):
        assert Agent.objects.filter(id=house.robot.agent.id).update(enabled=False) == 0
        assert Group.objects.filter(id=house.reviewers.id).delete()[0] == 0
    with tenant_transaction(house.id):
        assert Agent.objects.get(id=house.robot.agent.id).enabled
    with (
        pytest.raises(ProgrammingError, match="row-level security"),
        tenant_transaction(house.charlie.member.tenant_id),
    ):
        Agent.objects.create(tenant_id=house.id, name="planted")


def test_a_row_cannot_move_to_another_tenant(house: House) -> None:
    elsewhere = house.charlie.member.tenant_id
    with (
        pytest.raises(ProgrammingError, match="permission denied"),
        tenant_transaction(house.id),
    ):
        Agent.objects.filter(id=house.robot.agent.id).update(tenant_id=elsewhere)


def test_a_reference_to_another_tenants_row_is_refused(house: House) -> None:
    with (
        pytest.raises(IntegrityError, match="foreign key"),
        tenant_transaction(house.charlie.member.tenant_id),
    ):
        AgentOwner.objects.create(
            tenant_id=house.charlie.member.tenant_id,
            agent_id=house.robot.agent.id,
            member_id=house.charlie.id,
        )


def test_tenants_interleaved_on_one_connection_never_mix() -> None:
    houses = [fresh_house() for _ in range(3)]
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        backend = cursor.fetchone()
    for turn in range(1000):
        house = houses[turn % 3]
        with tenant_transaction(house.id), connection.cursor() as cursor:
            cursor.execute("SELECT array_agg(DISTINCT tenant_id) FROM tenants_member")
            assert cursor.fetchone()[0] == [house.id]
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        assert cursor.fetchone() == backend


def test_the_scope_ends_with_its_transaction_even_when_that_fails(
    house: House,
) -> None:
    with pytest.raises(ZeroDivisionError), tenant_transaction(house.id):
        Member.objects.count() / 0
    assert not Member.objects.exists()


def test_a_scope_is_never_inside_another_transaction(house: House) -> None:
    with transaction.atomic(), pytest.raises(NestedScope), tenant_transaction(house.id):
        pass


def test_a_rolled_back_savepoint_leaves_the_scope_as_it_was(house: House) -> None:
    with tenant_transaction(house.id):
        with pytest.raises(RuntimeError), transaction.atomic():
            raise RuntimeError
        assert Member.objects.filter(id=house.bob.id).exists()


def test_a_scope_that_is_not_a_tenant_is_empty(house: House) -> None:
    with tenant_transaction(new_id()):
        assert not Member.objects.exists()


def test_an_empty_scope_shows_nothing(house: House) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT set_config('app.tenant', '', true)")
        assert not Member.objects.filter(id=house.bob.id).exists()


@pytest.mark.parametrize("value", ["null", "' OR true --"])
def test_a_scope_that_is_no_id_is_an_error(value: str, house: House) -> None:
    with pytest.raises(DatabaseError, match="for type uuid"), transaction.atomic():
        _look_with_scope(value)


def _look_with_scope(value: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('app.tenant', %s, true)", [value])
        cursor.execute("SELECT count(*) FROM tenants_member")


def test_the_owner_sees_no_rows_either(house: House) -> None:
    with owner() as admin, admin.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM tenants_member")
        assert cursor.fetchone() == (0,)


def test_a_new_user_belongs_nowhere() -> None:
    user = fresh_user("Nobody")
    assert rows("SELECT * FROM keyturn_memberships(%s)", user.pk) == []
