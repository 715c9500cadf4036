"""Chats that are told: webhooks whose address is a secret, and messages made as they leave."""

import django.db.models.deletion
import tenants.models.base
from django.db import migrations, models

# The columns came after the table was protected; a webhook's format is never changed.
QUEUE = """
ALTER TABLE approvals_webhook ADD FOREIGN KEY (tenant_id, queue_id)
  REFERENCES approvals_queue (tenant_id, id);
GRANT UPDATE (queue_id) ON approvals_webhook TO keyturn_app;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('approvals', '0026_offers'),
    ]

    operations = [
        migrations.AddField(
            model_name='webhook',
            name='format',
            field=models.CharField(choices=[('events', 'Events'), ('chat', 'Chat')], default='events', max_length=6),
        ),
        migrations.AddField(
            model_name='webhook',
            name='queue',
            field=tenants.models.base.TenantForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='approvals.queue'),
        ),
        migrations.AlterField(
            model_name='webhookdelivery',
            name='state',
            field=models.CharField(choices=[('queued', 'Queued'), ('delivered', 'Delivered'), ('dead', 'Dead'), ('dropped', 'Dropped')], default='queued', max_length=9),
        ),
        migrations.RemoveConstraint(
            model_name='webhookdelivery',
            name='webhook_delivery_due_while_queued',
        ),
        migrations.AddConstraint(
            model_name='webhookdelivery',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('due_at__isnull', False), ('state', 'queued')), models.Q(('due_at', None), ('state__in', ['delivered', 'dead', 'dropped'])), _connector='OR'), name='webhook_delivery_due_while_queued'),
        ),
        migrations.AddConstraint(
            model_name='webhook',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('format', 'events'), ('queue', None)), models.Q(('format', 'chat'), ('with_arguments', False)), _connector='OR'), name='webhook_of_its_format'),
        ),
        migrations.RunSQL(QUEUE),
    ]
