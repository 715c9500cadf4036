"""Who may write to the chain: the ledger's functions, and they only forwards.

`keyturn_ledger` cannot sign in. Its functions run inside the tenant's scope, under the
same row-level security as everybody else.
"""

from django.db import migrations

from kernel.protect import SCOPE

ISOLATION = "".join(
    f"""
ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;
ALTER TABLE {table} FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON {table}
  USING (tenant_id = {SCOPE}) WITH CHECK (tenant_id = {SCOPE});
REVOKE ALL ON {table} FROM PUBLIC, keyturn_app, keyturn_relay;
GRANT SELECT ON {table} TO keyturn_app;
"""
    for table in ("audit_entry", "audit_head")
)

SHAPE = """
ALTER TABLE audit_entry
  ADD CHECK (seq > 0),
  ADD CHECK (octet_length(prev) = 32 AND octet_length(hash) = 32),
  ADD CHECK (octet_length(signature) = 64);
ALTER TABLE audit_head
  ADD CHECK (seq >= 0),
  ADD CHECK (octet_length(hash) = 32);
"""

# Hygiene, not evidence: an administrator can drop a trigger, and verify_audit will say.
NO_WAY_BACK = """
CREATE FUNCTION audit_refuse_change() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RAISE EXCEPTION 'the audit log only grows' USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE FUNCTION audit_refuse_return() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NEW.tenant_id <> OLD.tenant_id OR NEW.seq <= OLD.seq THEN
    RAISE EXCEPTION 'the head of an audit chain only moves forwards'
      USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER only_grows BEFORE UPDATE OR DELETE ON audit_entry
  FOR EACH ROW EXECUTE FUNCTION audit_refuse_change();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON audit_entry
  FOR EACH STATEMENT EXECUTE FUNCTION audit_refuse_change();
CREATE TRIGGER only_forwards BEFORE UPDATE ON audit_head
  FOR EACH ROW EXECUTE FUNCTION audit_refuse_return();
CREATE TRIGGER no_delete BEFORE DELETE ON audit_head
  FOR EACH ROW EXECUTE FUNCTION audit_refuse_change();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON audit_head
  FOR EACH STATEMENT EXECUTE FUNCTION audit_refuse_change();
ALTER TABLE audit_entry ENABLE ALWAYS TRIGGER only_grows;
ALTER TABLE audit_entry ENABLE ALWAYS TRIGGER no_truncate;
ALTER TABLE audit_head ENABLE ALWAYS TRIGGER only_forwards;
ALTER TABLE audit_head ENABLE ALWAYS TRIGGER no_delete;
ALTER TABLE audit_head ENABLE ALWAYS TRIGGER no_truncate;
"""

# audit_append takes the columns from the signed bytes themselves, so that the copy
# cannot differ from the evidence when it is written.
LEDGER = r"""
CREATE FUNCTION audit_head(of_tenant uuid, OUT seq bigint, OUT hash bytea,
                           OUT at timestamptz)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  LOOP
    SELECT h.seq, h.hash INTO seq, hash FROM public.audit_head h
      WHERE h.tenant_id = of_tenant FOR NO KEY UPDATE;
    EXIT WHEN FOUND;
    INSERT INTO public.audit_head AS h (tenant_id, seq, hash)
      VALUES (of_tenant, 0, decode(repeat('00', 32), 'hex')) ON CONFLICT DO NOTHING;
  END LOOP;
  at := clock_timestamp();
END $$;

CREATE FUNCTION audit_append(of_tenant uuid, bodies bytea[], hashes bytea[],
                             signatures bytea[], signed_by text) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  head public.audit_head%ROWTYPE;
  said jsonb;
  linked bytea;
BEGIN
  SELECT * INTO STRICT head FROM public.audit_head h
    WHERE h.tenant_id = of_tenant FOR NO KEY UPDATE;
  FOR i IN 1 .. cardinality(bodies) LOOP
    said := convert_from(bodies[i], 'UTF8')::jsonb;
    linked := sha256('\x6b65797475726e2f61756469742f763100'::bytea
      || uuid_send(of_tenant) || int8send(head.seq + 1) || head.hash
      || sha256(bodies[i]));
    IF linked IS DISTINCT FROM hashes[i]
       OR (said ->> 'tenant')::uuid IS DISTINCT FROM of_tenant
       OR (said ->> 'seq')::bigint IS DISTINCT FROM head.seq + 1
       OR ((said ->> 'at')::timestamptz BETWEEN clock_timestamp() - interval '1 minute'
           AND clock_timestamp() + interval '1 second') IS NOT TRUE THEN
      RAISE EXCEPTION 'audit entry % does not continue the chain', head.seq + 1
        USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    INSERT INTO public.audit_entry
      (id, tenant_id, seq, at, kind, actor_type, actor_id, subject_type, subject_id,
       data, body, prev, hash, signature, key_id)
    VALUES
      ((said ->> 'id')::uuid, of_tenant, head.seq + 1, (said ->> 'at')::timestamptz,
       said ->> 'kind', said #>> '{actor,type}', said #>> '{actor,id}',
       said #>> '{subject,type}', (said #>> '{subject,id}')::uuid, said -> 'data',
       bodies[i], head.hash, linked, signatures[i], signed_by);
    head.seq := head.seq + 1;
    head.hash := linked;
  END LOOP;
  UPDATE public.audit_head h SET seq = head.seq, hash = head.hash
    WHERE h.tenant_id = of_tenant;
  RETURN head.seq;
END $$;

GRANT SELECT, INSERT ON audit_entry TO keyturn_ledger;
GRANT SELECT, INSERT, UPDATE (seq, hash) ON audit_head TO keyturn_ledger;
REVOKE ALL ON FUNCTION audit_head(uuid),
  audit_append(uuid, bytea[], bytea[], bytea[], text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION audit_head(uuid),
  audit_append(uuid, bytea[], bytea[], bytea[], text) TO keyturn_app;
ALTER FUNCTION audit_head(uuid) OWNER TO keyturn_ledger;
ALTER FUNCTION audit_append(uuid, bytea[], bytea[], bytea[], text)
  OWNER TO keyturn_ledger;
"""

# Which tenants have a chain. The relay may ask, because it may know which tenants
# there are anyway; it gets ids, and whoever holds an id still needs the app role and
# the tenant's scope to read one entry. Entries whose head was removed count too.
TENANTS = """
CREATE POLICY ledger ON audit_head FOR SELECT TO keyturn_ledger USING (true);
CREATE POLICY ledger ON audit_entry FOR SELECT TO keyturn_ledger USING (true);

CREATE FUNCTION audit_tenants() RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  WITH RECURSIVE next (tenant_id) AS (
    (SELECT e.tenant_id FROM public.audit_entry e ORDER BY e.tenant_id LIMIT 1)
    UNION ALL
    SELECT (SELECT e.tenant_id FROM public.audit_entry e
            WHERE e.tenant_id > n.tenant_id ORDER BY e.tenant_id LIMIT 1)
    FROM next n WHERE n.tenant_id IS NOT NULL
  )
  SELECT n.tenant_id FROM next n WHERE n.tenant_id IS NOT NULL
  UNION SELECT h.tenant_id FROM public.audit_head h
  ORDER BY 1
$$;
REVOKE ALL ON FUNCTION audit_tenants() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION audit_tenants() TO keyturn_relay;
ALTER FUNCTION audit_tenants() OWNER TO keyturn_ledger;
"""


class Migration(migrations.Migration):
    dependencies = [("audit", "0001_initial")]

    operations = [
        migrations.RunSQL(statement)
        for statement in (ISOLATION, SHAPE, NO_WAY_BACK, LEDGER, TENANTS)
    ]
