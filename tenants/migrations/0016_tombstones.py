"""What ended stays on the row: identities, links to join, and when somebody was invited."""

from django.db import migrations, models

import kernel.clock

# An identity that was disconnected is known as such, so it is never deleted.
GRANTS = """
REVOKE DELETE ON tenants_externalidentity FROM keyturn_app;
GRANT UPDATE (ended_at) ON tenants_externalidentity TO keyturn_app;
GRANT UPDATE (revoked_at) ON tenants_joinlink TO keyturn_app;
GRANT UPDATE (sent_at) ON tenants_invitation TO keyturn_app;
"""

ENTRANCES = """
SET LOCAL ROLE keyturn_lookup;
CREATE OR REPLACE FUNCTION keyturn_entrances(member_of uuid)
RETURNS TABLE (tenant_id uuid, passwords boolean, identities uuid[])
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$ SELECT m.tenant_id, NOT coalesce(s.refuses_passwords, false),
        ARRAY(SELECT i.id FROM public.tenants_externalidentity i
              WHERE i.tenant_id = m.tenant_id AND i.member_id = m.id
                AND i.issuer = s.issuer AND i.ended_at IS NULL)
      FROM public.tenants_member m
      LEFT JOIN public.tenants_singlesignon s ON s.tenant_id = m.tenant_id
      WHERE m.user_id = member_of AND m.active $$;
RESET ROLE;
"""


class Migration(migrations.Migration):
    dependencies = [("tenants", "0015_quotas")]

    operations = [
        migrations.AddField(
            "externalidentity", "ended_at", models.DateTimeField(null=True)
        ),
        migrations.RemoveConstraint("externalidentity", "external_identity_once"),
        migrations.RemoveConstraint("externalidentity", "external_identity_per_member"),
        migrations.AddConstraint(
            "externalidentity",
            models.UniqueConstraint(
                fields=["tenant", "issuer", "subject"],
                condition=models.Q(ended_at=None),
                name="external_identity_once",
            ),
        ),
        migrations.AddConstraint(
            "externalidentity",
            models.UniqueConstraint(
                fields=["tenant", "member", "issuer"],
                condition=models.Q(ended_at=None),
                name="external_identity_per_member",
            ),
        ),
        migrations.AddField("joinlink", "revoked_at", models.DateTimeField(null=True)),
        migrations.AddField(
            "invitation",
            "sent_at",
            models.DateTimeField(db_default=kernel.clock.ClockTimestamp()),
        ),
        migrations.RunSQL(GRANTS, migrations.RunSQL.noop),
        migrations.RunSQL(ENTRANCES, migrations.RunSQL.noop),
    ]
