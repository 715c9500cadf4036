"""How many questions an agent may ask in a minute, and how many it did."""

import django.db.models.deletion
import kernel.clock
import kernel.ids
import tenants.models.base
from django.db import migrations, models

from kernel.protect import Table, protect


# One statement for all of it, at the end of a verb: its lock on the minute's row is held
# for as long as the chain's head is. An agent's busy minutes are the busiest of each of its
# hours; what 19 of 20 of them stayed below is usual. Looked at once a minute, and only
# where there is something to look at.
COUNT = """
CREATE FUNCTION keyturn_count_asked(asking uuid, wanted integer)
RETURNS TABLE (allowed boolean, seconds integer, usual integer, began boolean)
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
  here uuid := nullif(current_setting('app.tenant', true), '')::uuid;
  now_at timestamptz := clock_timestamp();
  this_minute timestamptz := date_trunc('minute', now_at);
  most integer;
  one public.tenants_askcount;
  peaks integer;
BEGIN
  SELECT coalesce(a.asks_per_minute, t.asks_per_minute) INTO STRICT most
    FROM public.tenants_agent a JOIN public.tenants_tenant t ON t.id = a.tenant_id
    WHERE a.id = asking;
  seconds := ceil(extract(epoch FROM this_minute + interval '1 minute' - now_at));
  allowed := false;
  began := false;
  IF wanted <= most THEN
    INSERT INTO public.tenants_askcount AS c
      (id, tenant_id, agent_id, minute, asked, looked, unusual)
    VALUES (gen_random_uuid(), here, asking, this_minute, wanted, false, false)
    ON CONFLICT (tenant_id, agent_id, minute) DO UPDATE
      SET asked = c.asked + excluded.asked WHERE c.asked + excluded.asked <= most
    RETURNING c.* INTO one;
    allowed := FOUND;
  END IF;
  IF NOT allowed OR one.asked < 10 THEN
    RETURN NEXT;
    RETURN;
  END IF;
  IF NOT one.looked THEN
    SELECT count(*), percentile_disc(0.95) WITHIN GROUP (ORDER BY h.peak)
      INTO peaks, one.usual
      FROM (SELECT max(p.asked) AS peak FROM public.tenants_askcount p
            WHERE p.agent_id = asking AND p.minute >= this_minute - interval '7 days'
              AND p.minute < date_trunc('hour', this_minute)
            GROUP BY date_trunc('hour', p.minute)) h;
    IF peaks < 24 THEN
      one.usual := NULL;
    END IF;
    UPDATE public.tenants_askcount SET looked = true, usual = one.usual
      WHERE id = one.id;
    DELETE FROM public.tenants_askcount
      WHERE agent_id = asking AND minute < this_minute - interval '8 days';
  END IF;
  usual := one.usual;
  IF one.usual IS NOT NULL AND NOT one.unusual AND one.asked > 3 * one.usual THEN
    began := NOT EXISTS (
      SELECT FROM public.tenants_askcount p WHERE p.agent_id = asking AND p.unusual
        AND p.minute > this_minute - interval '1 hour');
    UPDATE public.tenants_askcount SET unusual = true WHERE id = one.id;
  END IF;
  RETURN NEXT;
END $$;
REVOKE ALL ON FUNCTION keyturn_count_asked(uuid, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION keyturn_count_asked(uuid, integer) TO keyturn_app;
GRANT UPDATE (asks_per_minute) ON tenants_agent, tenants_tenant TO keyturn_app;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('tenants', '0014_cache'),
    ]

    operations = [
        migrations.AddField(
            model_name='agent',
            name='asks_per_minute',
            field=models.PositiveIntegerField(null=True),
        ),
        migrations.AddField(
            model_name='tenant',
            name='asks_per_minute',
            field=models.PositiveIntegerField(db_default=600, default=600),
        ),
        migrations.CreateModel(
            name='AskCount',
            fields=[
                ('id', models.UUIDField(default=kernel.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=kernel.clock.ClockTimestamp(), editable=False)),
                ('minute', models.DateTimeField()),
                ('asked', models.PositiveIntegerField()),
                ('looked', models.BooleanField(default=False)),
                ('usual', models.PositiveIntegerField(null=True)),
                ('unusual', models.BooleanField(default=False)),
                ('agent', tenants.models.base.TenantForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.agent')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('tenant', 'agent', 'minute'), name='ask_count_per_minute')],
            },
        ),
        protect(
            "tenants",
            Table(
                model="AskCount",
                update=("asked", "looked", "usual", "unusual"),
                delete=True,
            ),
        ),
        migrations.RunSQL(COUNT, migrations.RunSQL.noop),
    ]
