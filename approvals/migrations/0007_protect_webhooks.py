"""Row-level security for what is told outside, and the relay's view of what is due."""

from django.db import migrations

from kernel.protect import Table, protect

WEBHOOK = (
    "url",
    "description",
    "event_types",
    "with_arguments",
    "enabled",
    "why_disabled",
    "failures",
    "claim",
    "busy_until",
    "resting_until",
)
DELIVERY = ("state", "attempts", "due_at", "ended_at")

# Messages carry a delivery's id alone; the worker asks whose it is.
DELIVERY_TENANT = """
GRANT SELECT ON approvals_webhookdelivery TO keyturn_lookup;
CREATE POLICY lookup ON approvals_webhookdelivery
  FOR SELECT TO keyturn_lookup USING (true);
CREATE FUNCTION keyturn_delivery_tenant(delivery uuid) RETURNS uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$ SELECT d.tenant_id FROM public.approvals_webhookdelivery d
      WHERE d.id = delivery $$;
REVOKE ALL ON FUNCTION keyturn_delivery_tenant(uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION keyturn_delivery_tenant(uuid) TO keyturn_app;
ALTER FUNCTION keyturn_delivery_tenant(uuid) OWNER TO keyturn_lookup;
"""


class Migration(migrations.Migration):
    dependencies = [("approvals", "0006_webhooks")]

    operations = [
        protect(
            "approvals",
            Table(model="Webhook", update=WEBHOOK),
            Table(model="WebhookSecret", update=("expires_at",)),
            Table(model="WebhookDelivery", update=DELIVERY, relay=True),
            Table(model="WebhookAttempt", update=()),
        ),
        migrations.RunSQL(DELIVERY_TENANT),
    ]
