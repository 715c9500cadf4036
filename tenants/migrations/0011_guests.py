"""Guest auditors: members until a time, after which the look-up knows them no more."""

from django.db import migrations, models

MEMBERSHIPS = """
SET LOCAL ROLE keyturn_lookup;
CREATE OR REPLACE FUNCTION keyturn_memberships(member_of uuid)
RETURNS TABLE (tenant_id uuid, slug varchar, name varchar, member_id uuid, role varchar)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$ SELECT t.id, t.slug, t.name, m.id, m.role
      FROM public.tenants_member m JOIN public.tenants_tenant t ON t.id = m.tenant_id
      WHERE m.user_id = member_of AND m.active
        AND (m.until IS NULL OR m.until > clock_timestamp())
      ORDER BY t.name, t.id $$;
RESET ROLE;
"""


class Migration(migrations.Migration):
    dependencies = [("tenants", "0010_second_factors")]

    operations = [
        migrations.AddField("member", "until", models.DateTimeField(null=True)),
        migrations.AddConstraint(
            "member",
            models.CheckConstraint(
                condition=models.Q(until=None) | models.Q(role="auditor"),
                name="member_guest_audits",
            ),
        ),
        migrations.RunSQL("GRANT UPDATE (until) ON tenants_member TO keyturn_app"),
        migrations.RunSQL(MEMBERSHIPS),
    ]
