"""Boot refuses what would undo row-level security."""

import os
import subprocess
import sys
from collections.abc import Iterator
from uuid import uuid4

import psycopg
import pytest
from django.conf import settings
from psycopg import sql

from config.boot import connection_parameters, refuse_unsafe_boot, unsafe_database
from config.embedded import postgres

type Row = tuple[object, ...]
type Connection = psycopg.Connection[Row]


@pytest.fixture(scope="module")
def scratch() -> Iterator[str]:
    """A database beside ours, to be spoiled at will."""
    name = "boot_scratch"
    postgres.create_database(settings.DATA_DIR, name)
    yield name
    postgres.drop_database(settings.DATA_DIR, name)


@pytest.fixture
def admin(scratch: str) -> Iterator[Connection]:
    url = postgres.url(settings.DATA_DIR, "postgres", scratch)
    with psycopg.connect(url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def role(admin: Connection) -> Iterator[sql.Identifier]:
    """A role to sign in as, with nothing but what a test gives it."""
    name = sql.Identifier(f"boot_{uuid4().hex}")
    admin.execute(sql.SQL("create role {} login password 'boot'").format(name))
    database = sql.Identifier(admin.info.dbname)
    admin.execute(sql.SQL("grant connect on database {} to {}").format(database, name))
    yield name
    admin.execute(sql.SQL("drop owned by {}").format(name))
    admin.execute(sql.SQL("drop role {}").format(name))


def findings_as(role: sql.Identifier, admin: Connection) -> list[str]:
    (name,) = role._obj
    info = admin.info
    with psycopg.connect(
        host=info.host, dbname=info.dbname, user=name, password="boot"
    ) as connection:
        return unsafe_database(connection)


def test_the_migrated_database_and_its_app_role_are_safe() -> None:
    refuse_unsafe_boot()
    # And there was something to judge: an empty database is always safe.
    with psycopg.connect(**connection_parameters("default")) as connection:
        (forced,) = connection.execute(
            "select count(*) from pg_class where relforcerowsecurity"
        ).fetchone() or (0,)
        assert forced > 20


def test_a_plain_role_in_an_empty_database_is_safe(
    role: sql.Identifier, admin: Connection
) -> None:
    assert findings_as(role, admin) == []


@pytest.mark.parametrize("attribute", ["superuser", "bypassrls"])
def test_a_role_that_row_level_security_does_not_bind(
    role: sql.Identifier, admin: Connection, attribute: str
) -> None:
    admin.execute(sql.SQL("alter role {} " + attribute).format(role))
    finding = findings_as(role, admin)[0]
    assert "is a superuser or bypasses row-level security" in finding


def test_a_role_that_may_become_one(role: sql.Identifier, admin: Connection) -> None:
    admin.execute(
        sql.SQL("grant postgres to {} with inherit false, set true").format(role)
    )
    assert (
        "is a member of postgres, which is a superuser" in findings_as(role, admin)[0]
    )


@pytest.mark.parametrize("through", ["itself", "a role it is a member of"])
def test_a_role_that_owns_tables(
    role: sql.Identifier, admin: Connection, through: str
) -> None:
    owner = role if through == "itself" else sql.Identifier("keyturn_owner")
    admin.execute("create table owned ()")
    try:
        admin.execute(sql.SQL("alter table owned owner to {}").format(owner))
        if owner != role:
            admin.execute(sql.SQL("grant {} to {}").format(owner, role))
        assert any("owns tables, 1 of them" in it for it in findings_as(role, admin))
    finally:
        admin.execute("drop table owned")


@pytest.mark.parametrize("other", ["keyturn_relay", "keyturn_ledger", "keyturn_lookup"])
def test_a_member_of_a_role_that_sees_every_tenant(
    role: sql.Identifier, admin: Connection, other: str
) -> None:
    admin.execute(sql.SQL("grant {} to {}").format(sql.Identifier(other), role))
    (finding,) = findings_as(role, admin)
    assert f"is a member of {other}" in finding


@pytest.mark.parametrize(
    ("table", "security", "safe"),
    [
        ("things (tenant_id uuid)", [], False),
        ("things (tenant_id uuid)", ["enable"], False),
        ("things (tenant_id uuid)", ["force"], False),
        ("things (tenant_id uuid)", ["enable", "force"], True),
        ("things (other uuid)", [], True),
        ("tenants_tenant (id uuid)", ["enable"], False),
    ],
)
def test_a_table_of_tenants_must_force_its_policies(
    role: sql.Identifier,
    admin: Connection,
    table: str,
    security: list[str],
    safe: bool,
) -> None:
    name = table.split()[0]
    admin.execute(f"create table {table}")
    try:
        for word in security:
            admin.execute(f"alter table {name} {word} row level security")
        findings = findings_as(role, admin)
    finally:
        admin.execute(f"drop table {name}")
    expected = f"the table {name} holds rows of tenants without FORCE"
    assert findings == [] if safe else expected in findings[0]


REAL = {"DATABASE_URL": "postgresql://keyturn_app@/nowhere?host=/nonexistent"}


DOORS = {
    "wsgi": ["-c", "import config.wsgi"],
    "asgi": ["-c", "import config.asgi"],
    "worker": ["-m", "celery", "-A", "config.celery:app", "worker"],
    "beat": ["-m", "celery", "-A", "config.celery:app", "beat"],
}


@pytest.mark.parametrize(
    ("door", "variables", "said"),
    [
        *((door, {}, "DJANGO_SECRET_KEY is missing") for door in DOORS),
        ("wsgi", {"DJANGO_DEBUG": "1"}, "DJANGO_DEBUG is on"),
        ("worker", {"KEYTURN_TEST_BARRIERS": "b"}, "KEYTURN_TEST_BARRIERS is set"),
        ("wsgi", {"DJANGO_SECRET_KEY": "k"}, "the database does not answer"),
    ],
)
def test_no_door_opens_on_an_unsafe_installation(
    door: str, variables: dict[str, str], said: str
) -> None:
    opened = subprocess.run(
        [sys.executable, *DOORS[door]],
        env=os.environ | REAL | variables,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert opened.returncode != 0
    assert said in opened.stderr
