-- The roles and one database of an installation. Safe to run again.
--
-- Keyturn's own embedded PostgreSQL runs this file; an operator runs it once against
-- a server of their own, as its administrator:
--
--   KEYTURN_OWNER_PASSWORD=… KEYTURN_APP_PASSWORD=… KEYTURN_RELAY_PASSWORD=… \
--     psql -d postgresql://postgres@db.internal/postgres -f config/embedded/bootstrap.sql
--
-- Passwords come from the environment, since other users can read a command line.
-- Optional: -v database=NAME (default keyturn), -v template=NAME (default template0).
\set ON_ERROR_STOP on
\getenv owner_password KEYTURN_OWNER_PASSWORD
\getenv app_password KEYTURN_APP_PASSWORD
\getenv relay_password KEYTURN_RELAY_PASSWORD
\if :{?database}
\else
  \set database keyturn
\endif
\if :{?template}
\else
  \set template template0
\endif

-- A failing statement is logged with its text, and some of these hold passwords.
select set_config('log_min_error_statement', 'panic', false),
       set_config('log_statement', 'none', false)
 where (select rolsuper from pg_roles where rolname = current_user)
\g /dev/null

-- owner   owns tables and runs migrations
-- app     web, workers and commands: sees one tenant at a time
-- relay   sweeps: sees which tenant has something due, and nothing else
-- ledger  owns the audit functions; nobody signs in as it
-- lookup  owns the functions that name a tenant before there is one; likewise
select format('create role %I', role)
  from unnest(array['keyturn_owner', 'keyturn_app', 'keyturn_relay',
                    'keyturn_ledger', 'keyturn_lookup']) as role
 where not exists (select from pg_roles where rolname = role)
\gexec

alter role keyturn_owner login password :'owner_password';
alter role keyturn_app login password :'app_password';
alter role keyturn_relay login password :'relay_password';
alter role keyturn_ledger nologin;
alter role keyturn_lookup nologin;

-- The owner hands functions over to these two; their rights never reach it unasked.
grant keyturn_ledger to keyturn_owner with inherit false, set true;
grant keyturn_lookup to keyturn_owner with inherit false, set true;

-- One collation everywhere, whatever the operating system ships.
select format(
         'create database %I owner keyturn_owner template %I encoding ''UTF8'' '
         'locale ''C'' locale_provider builtin builtin_locale ''C.UTF-8''',
         :'database', :'template')
 where not exists (select from pg_database where datname = :'database')
\gexec

-- TEMPORARY too: a temporary table can stand in front of a real one.
revoke all on database :"database" from public;
grant connect on database :"database" to keyturn_owner, keyturn_app, keyturn_relay;

\connect :database

revoke all on schema public from public;
grant usage on schema public
   to keyturn_owner, keyturn_app, keyturn_relay, keyturn_ledger, keyturn_lookup;
grant create on schema public to keyturn_owner, keyturn_ledger, keyturn_lookup;

-- No default grants on tables: each migration gives the app role what it needs.

-- A SECURITY DEFINER function that everyone may call is a hole: migrations grant each
-- function to the role that needs it. (Such a default is global, never per schema.)
alter default privileges for role keyturn_owner, keyturn_ledger, keyturn_lookup
  revoke execute on functions from public;
