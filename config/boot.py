"""What an installation must not start with: settings and roles that undo its promises.

Row-level security binds neither superusers nor, unless forced, owners of tables; so a
process that connects as one of them would work, and isolate nobody.
"""

from typing import Any

import psycopg
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from psycopg.rows import scalar_row

from config import env
from tenants.master_keys import master_keys


def refuse_unsafe_boot() -> None:
    """Check settings and database; every server and worker does so before it serves.

    Raises:
        ImproperlyConfigured: something is unsafe, or the database cannot be asked; the
            message names all of it.
    """
    if found := [*unsafe_settings(), *_unsafe_database()]:
        raise ImproperlyConfigured("Keyturn does not start: " + "; ".join(found))


def unsafe_settings() -> list[str]:
    """Return what is wrong with the settings, one sentence each."""
    if settings.EMBEDDED:
        return []
    found = []
    if settings.DEBUG:
        found.append("DJANGO_DEBUG is on while DATABASE_URL names a real database")
    if not env.text("DJANGO_SECRET_KEY"):
        found.append("DJANGO_SECRET_KEY is missing")
    if settings.TEST_BARRIERS:
        found.append("KEYTURN_TEST_BARRIERS is set while DATABASE_URL names a database")
    return found + _unsafe_data_keys()


def _unsafe_data_keys() -> list[str]:
    try:
        master_keys()
    except ImproperlyConfigured as error:
        return [str(error)]
    return []


def _unsafe_database() -> list[str]:
    # Not Django's connection: uvicorn imports us inside its event loop.
    try:
        with psycopg.connect(**connection_parameters("default")) as connection:
            return unsafe_database(connection)
    except psycopg.OperationalError as error:
        return [f"the database does not answer ({str(error).strip()})"]


def connection_parameters(alias: str) -> dict[str, Any]:
    """Return what libpq needs to connect as Django's ``alias`` does."""
    database = settings.DATABASES[alias]
    parameters = {
        "dbname": database["NAME"],
        "user": database["USER"],
        "password": database["PASSWORD"],
        "host": database["HOST"],
        "port": database["PORT"],
        "connect_timeout": 5,
        **database["OPTIONS"],
    }
    return {key: value for key, value in parameters.items() if value and key != "pool"}


def unsafe_database(connection: psycopg.Connection[Any]) -> list[str]:
    """Return what is wrong with the connection's role and tables, one sentence each."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        return [
            finding
            for query in (_UNBOUND, _OWNING, _RELAYING, _UNFORCED)
            for finding in cursor.execute(query).fetchall()
        ]


# Whatever it may become with SET ROLE counts as what it is.
_UNBOUND = """
select format('the role %I is%s a superuser or bypasses row-level security',
              current_user, case when rolname = current_user then '' else
              format(' a member of %I, which is', rolname) end)
  from pg_roles
 where (rolsuper or rolbypassrls) and pg_has_role(current_user, oid, 'member')
   and (rolname = current_user or not exists (
         select from pg_roles where rolname = current_user and rolsuper))
 order by rolname
"""

_OWNING = """
select format('the role %I owns tables, %s of them; it must own none',
              current_user, count(*))
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
 where n.nspname = 'public' and c.relkind in ('r', 'p', 'v', 'm', 'f')
   and pg_has_role(current_user, c.relowner, 'member')
having count(*) > 0
"""

_RELAYING = """
select format('the role %I is a member of %I, which sees rows of every tenant',
              current_user, rolname)
  from pg_roles
 where rolname in ('keyturn_relay', 'keyturn_ledger', 'keyturn_lookup')
   and rolname <> current_user and pg_has_role(current_user, oid, 'member')
 order by rolname
"""

_UNFORCED = """
select format('the table %I holds rows of tenants without FORCE ROW LEVEL SECURITY',
              c.relname)
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
 where n.nspname = 'public' and c.relkind in ('r', 'p')
   and not (c.relrowsecurity and c.relforcerowsecurity)
   and (c.relname = 'tenants_tenant' or exists (
         select from pg_attribute a
          where a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped))
 order by c.relname
"""
