"""Row-level security, the gate, and look-ups for when the tenant is not yet known."""

from django.db import migrations

from kernel.protect import SCOPE, Table, protect

GATE = """
CREATE FUNCTION keyturn_gate(tenant uuid) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN hashtextextended('gate:' || tenant::text, 0);
GRANT EXECUTE ON FUNCTION keyturn_gate(uuid) TO keyturn_app, keyturn_lookup;

CREATE FUNCTION keyturn_close_gate() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(keyturn_gate(
    CASE TG_OP WHEN 'DELETE' THEN OLD.tenant_id ELSE NEW.tenant_id END));
  RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
END $$;
"""

TENANT = f"""
ALTER TABLE tenants_tenant ENABLE ROW LEVEL SECURITY;
ALTER TABLE tenants_tenant FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON tenants_tenant
  USING (id = {SCOPE}) WITH CHECK (id = {SCOPE});
GRANT SELECT, INSERT, UPDATE (name, state, solo, names_deciders)
  ON tenants_tenant TO keyturn_app;
CREATE FUNCTION keyturn_close_own_gate() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(keyturn_gate(NEW.id));
  RETURN NEW;
END $$;
CREATE TRIGGER gate BEFORE UPDATE ON tenants_tenant
  FOR EACH ROW EXECUTE FUNCTION keyturn_close_own_gate();
"""

# The definer sees the rows of all tenants, and returns ids alone.
LOOK_UPS = """
GRANT SELECT ON tenants_tenant, tenants_member, tenants_group, tenants_apikey
  TO keyturn_lookup;
CREATE POLICY lookup ON tenants_tenant FOR SELECT TO keyturn_lookup USING (true);
CREATE POLICY lookup ON tenants_member FOR SELECT TO keyturn_lookup USING (true);
CREATE POLICY lookup ON tenants_group FOR SELECT TO keyturn_lookup USING (true);
CREATE POLICY lookup ON tenants_apikey FOR SELECT TO keyturn_lookup USING (true);

CREATE FUNCTION keyturn_key(key_hash bytea)
RETURNS TABLE (tenant_id uuid, agent_id uuid, key_id uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$ SELECT k.tenant_id, k.agent_id, k.id FROM public.tenants_apikey k
      WHERE k.hash = key_hash $$;

CREATE FUNCTION keyturn_memberships(member_of uuid)
RETURNS TABLE (tenant_id uuid, slug varchar, name varchar, member_id uuid, role varchar)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$ SELECT t.id, t.slug, t.name, m.id, m.role
      FROM public.tenants_member m JOIN public.tenants_tenant t ON t.id = m.tenant_id
      WHERE m.user_id = member_of AND m.active ORDER BY t.name, t.id $$;

CREATE FUNCTION keyturn_any_tenant() RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$ SELECT EXISTS (SELECT FROM public.tenants_tenant) $$;

CREATE FUNCTION keyturn_close_gates_of_user() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(public.keyturn_gate(m.tenant_id))
  FROM (SELECT tenant_id FROM public.tenants_member
        WHERE user_id = NEW.id ORDER BY tenant_id) m;
  RETURN NEW;
END $$;

CREATE FUNCTION keyturn_close_gates_of_group() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE changed integer :=
  CASE TG_OP WHEN 'DELETE' THEN OLD.group_id ELSE NEW.group_id END;
BEGIN
  PERFORM pg_advisory_xact_lock(public.keyturn_gate(g.tenant_id))
  FROM public.tenants_group g WHERE g.django_group_id = changed;
  RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
END $$;

REVOKE ALL ON FUNCTION keyturn_key(bytea), keyturn_memberships(uuid),
  keyturn_any_tenant(), keyturn_close_gates_of_user(), keyturn_close_gates_of_group()
  FROM PUBLIC;
GRANT EXECUTE ON FUNCTION keyturn_key(bytea), keyturn_memberships(uuid),
  keyturn_any_tenant() TO keyturn_app;

CREATE TRIGGER gate BEFORE UPDATE OF is_active ON tenants_user
  FOR EACH ROW EXECUTE FUNCTION keyturn_close_gates_of_user();
CREATE TRIGGER gate BEFORE INSERT OR UPDATE OR DELETE ON tenants_user_groups
  FOR EACH ROW EXECUTE FUNCTION keyturn_close_gates_of_group();

-- Last: once they are another's, the owner can neither grant nor attach them.
ALTER FUNCTION keyturn_key(bytea) OWNER TO keyturn_lookup;
ALTER FUNCTION keyturn_memberships(uuid) OWNER TO keyturn_lookup;
ALTER FUNCTION keyturn_any_tenant() OWNER TO keyturn_lookup;
ALTER FUNCTION keyturn_close_gates_of_user() OWNER TO keyturn_lookup;
ALTER FUNCTION keyturn_close_gates_of_group() OWNER TO keyturn_lookup;
"""

# Sign-in identities are global: the few tables without a tenant.
GLOBALS = """
GRANT SELECT, INSERT, UPDATE ON tenants_user TO keyturn_app;
GRANT SELECT, INSERT, DELETE ON tenants_user_groups TO keyturn_app;
GRANT SELECT ON tenants_user_user_permissions TO keyturn_app;
GRANT SELECT, INSERT ON auth_group TO keyturn_app;
GRANT SELECT ON auth_group_permissions, auth_permission TO keyturn_app;
GRANT SELECT ON django_content_type, django_migrations TO keyturn_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON django_session TO keyturn_app;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO keyturn_app;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("tenants", "0001_initial"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
        ("sessions", "0001_initial"),
    ]

    operations = [
        migrations.RunSQL(GATE),
        migrations.RunSQL(TENANT),
        protect(
            "tenants",
            Table(model="Member", update=("role", "active"), gated=()),
            Table(model="Group", update=("name",), delete=True, gated=()),
            Table(model="Agent", update=("enabled",), gated=()),
            Table(model="AgentOwner", update=("until",), gated=()),
            Table(
                model="ApiKey",
                update=("scopes", "expires_at", "revoked_at"),
                gated=(),
            ),
            Table(model="IdempotencyRecord", update=(), delete=True),
        ),
        migrations.RunSQL(LOOK_UPS),
        migrations.RunSQL(GLOBALS),
    ]
