"""A solo tenant has one active member, and once it has ended, solo has ended."""

from django.db import migrations

SOLO = """
CREATE FUNCTION keyturn_solo_stays_ended() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.solo AND NOT OLD.solo THEN
    RAISE EXCEPTION 'solo has ended for good'
      USING ERRCODE = 'check_violation', CONSTRAINT = 'solo_stays_ended';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER solo BEFORE UPDATE OF solo ON tenants_tenant
  FOR EACH ROW EXECUTE FUNCTION keyturn_solo_stays_ended();

CREATE FUNCTION keyturn_solo_is_one() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM tenants_tenant t WHERE t.id = NEW.tenant_id AND t.solo)
     AND 1 < (SELECT count(*) FROM tenants_member m
              WHERE m.tenant_id = NEW.tenant_id AND m.active) THEN
    RAISE EXCEPTION 'a solo tenant has one active member'
      USING ERRCODE = 'check_violation', CONSTRAINT = 'solo_is_one';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER solo AFTER INSERT OR UPDATE OF active ON tenants_member
  FOR EACH ROW EXECUTE FUNCTION keyturn_solo_is_one();
"""


class Migration(migrations.Migration):
    dependencies = [("tenants", "0002_protect")]

    operations = [migrations.RunSQL(SOLO, migrations.RunSQL.noop)]
