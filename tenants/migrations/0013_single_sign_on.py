"""Tenants sign their people in with a provider of their own."""

import django.db.models.deletion
import kernel.clock
import kernel.ids
import tenants.models.base
from django.db import migrations, models

from kernel.protect import Table, protect


# What an entrance needs before the tenant is known: ids, and whether a password opens it.
LOOK_UPS = """
GRANT SELECT ON tenants_singlesignon, tenants_externalidentity TO keyturn_lookup;
CREATE POLICY lookup ON tenants_singlesignon FOR SELECT TO keyturn_lookup USING (true);
CREATE POLICY lookup ON tenants_externalidentity FOR SELECT TO keyturn_lookup
  USING (true);

CREATE FUNCTION keyturn_entrances(member_of uuid)
RETURNS TABLE (tenant_id uuid, passwords boolean, identities uuid[])
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$ SELECT m.tenant_id, NOT coalesce(s.refuses_passwords, false),
        ARRAY(SELECT i.id FROM public.tenants_externalidentity i
              WHERE i.tenant_id = m.tenant_id AND i.member_id = m.id
                AND i.issuer = s.issuer)
      FROM public.tenants_member m
      LEFT JOIN public.tenants_singlesignon s ON s.tenant_id = m.tenant_id
      WHERE m.user_id = member_of AND m.active $$;

CREATE FUNCTION keyturn_single_sign_on(tenant_slug varchar) RETURNS uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$ SELECT s.tenant_id FROM public.tenants_singlesignon s
      JOIN public.tenants_tenant t ON t.id = s.tenant_id WHERE t.slug = tenant_slug $$;

REVOKE ALL ON FUNCTION keyturn_entrances(uuid), keyturn_single_sign_on(varchar)
  FROM PUBLIC;
GRANT EXECUTE ON FUNCTION keyturn_entrances(uuid), keyturn_single_sign_on(varchar)
  TO keyturn_app;
ALTER FUNCTION keyturn_entrances(uuid) OWNER TO keyturn_lookup;
ALTER FUNCTION keyturn_single_sign_on(varchar) OWNER TO keyturn_lookup;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('tenants', '0012_invitations'),
    ]

    operations = [
        migrations.CreateModel(
            name='JoinLink',
            fields=[
                ('id', models.UUIDField(default=kernel.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=kernel.clock.ClockTimestamp(), editable=False)),
                ('digest', models.BinaryField(max_length=32)),
                ('name', models.CharField(max_length=200)),
                ('role', models.CharField(choices=[('owner', 'Owner'), ('admin', 'Admin'), ('reviewer', 'Reviewer'), ('auditor', 'Auditor'), ('developer', 'Developer')], max_length=16)),
                ('expires_at', models.DateTimeField()),
                ('used_at', models.DateTimeField(null=True)),
                ('created_by', tenants.models.base.TenantForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.member')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='ExternalIdentity',
            fields=[
                ('id', models.UUIDField(default=kernel.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=kernel.clock.ClockTimestamp(), editable=False)),
                ('issuer', models.CharField(max_length=500)),
                ('subject', models.CharField(max_length=255)),
                ('email', models.CharField(blank=True, max_length=254)),
                ('member', tenants.models.base.TenantForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.member')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('tenant', 'issuer', 'subject'), name='external_identity_once'), models.UniqueConstraint(fields=('tenant', 'member', 'issuer'), name='external_identity_per_member')],
            },
        ),
        migrations.CreateModel(
            name='GroupMapping',
            fields=[
                ('id', models.UUIDField(default=kernel.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=kernel.clock.ClockTimestamp(), editable=False)),
                ('value', models.CharField(max_length=255)),
                ('group', tenants.models.base.TenantForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.group')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('tenant', 'value', 'group'), name='group_mapping_once')],
            },
        ),
        migrations.CreateModel(
            name='SingleSignOn',
            fields=[
                ('id', models.UUIDField(default=kernel.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=kernel.clock.ClockTimestamp(), editable=False)),
                ('issuer', models.CharField(max_length=500)),
                ('client_id', models.CharField(max_length=255)),
                ('sealed', models.BinaryField()),
                ('groups_claim', models.CharField(blank=True, max_length=100)),
                ('admits', models.BooleanField(default=False)),
                ('role', models.CharField(choices=[('owner', 'Owner'), ('admin', 'Admin'), ('reviewer', 'Reviewer'), ('auditor', 'Auditor'), ('developer', 'Developer')], default='reviewer', max_length=16)),
                ('refuses_passwords', models.BooleanField(default=False)),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('tenant',), name='single_sign_on_per_tenant')],
            },
        ),
        protect(
            "tenants",
            Table(
                model="SingleSignOn",
                update=(
                    "issuer",
                    "client_id",
                    "sealed",
                    "groups_claim",
                    "admits",
                    "role",
                    "refuses_passwords",
                ),
                delete=True,
                gated=(),
            ),
            Table(model="GroupMapping", update=(), delete=True, gated=()),
            Table(model="ExternalIdentity", update=("email",), delete=True, gated=()),
            Table(model="JoinLink", update=("used_at",), gated=()),
        ),
        migrations.RunSQL(LOOK_UPS, migrations.RunSQL.noop),
    ]
