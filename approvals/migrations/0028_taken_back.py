"""Answers that were taken back while others were still missing."""

import django.db.models.deletion
import tenants.models.base
from django.db import migrations, models

# The column came after its table was protected.
COLUMN = """
ALTER TABLE approvals_decision ADD FOREIGN KEY (tenant_id, taken_back_by_id)
  REFERENCES tenants_member (tenant_id, id);
GRANT UPDATE (taken_back_by_id) ON approvals_decision TO keyturn_app;
"""

# What has led to anything is revoked, and not taken back; and what was taken back never
# counts again.
TAKEN_BACK = """
CREATE FUNCTION keyturn_taken_back() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF OLD.taken_back_by_id IS NOT NULL THEN
    IF (NEW.taken_back_by_id, NEW.dismissed_at)
      IS DISTINCT FROM (OLD.taken_back_by_id, OLD.dismissed_at)
    THEN
      RAISE EXCEPTION 'the answer was taken back'
        USING ERRCODE = 'integrity_constraint_violation';
    END IF;
  ELSIF NEW.taken_back_by_id IS NOT NULL AND (
    OLD.dismissed_at IS NOT NULL OR NOT EXISTS (
      SELECT FROM public.approvals_request q JOIN public.approvals_revision v
        ON v.request_id = q.id AND v.number = q.revision
       WHERE v.id = NEW.revision_id AND q.state = 'pending'))
  THEN
    RAISE EXCEPTION 'the answer can no longer be taken back'
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER taken_back BEFORE UPDATE OF taken_back_by_id, dismissed_at
  ON approvals_decision FOR EACH ROW EXECUTE FUNCTION keyturn_taken_back();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('approvals', '0027_chats'),
        ('tenants', '0016_tombstones'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='decision',
            name='decision_once_per_person',
        ),
        migrations.RemoveConstraint(
            model_name='decision',
            name='decision_once_on_behalf',
        ),
        migrations.AddField(
            model_name='decision',
            name='taken_back_by',
            field=tenants.models.base.TenantForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.member'),
        ),
        migrations.AddIndex(
            model_name='decision',
            index=models.Index(fields=['tenant', 'revision'], name='decision_of_revision'),
        ),
        migrations.AddConstraint(
            model_name='decision',
            constraint=models.UniqueConstraint(condition=models.Q(('taken_back_by', None)), fields=('tenant', 'revision', 'member', 'broke_glass'), name='decision_once_per_person'),
        ),
        migrations.AddConstraint(
            model_name='decision',
            constraint=models.UniqueConstraint(condition=models.Q(('taken_back_by', None)), fields=('tenant', 'revision', 'on_behalf_of'), name='decision_once_on_behalf'),
        ),
        migrations.AddConstraint(
            model_name='decision',
            constraint=models.CheckConstraint(condition=models.Q(('taken_back_by', None), models.Q(models.Q(models.Q(('member__isnull', False), ('taken_back_by', models.F('member'))), models.Q(('on_behalf_of__isnull', False), ('taken_back_by', models.F('on_behalf_of'))), _connector='OR'), ('broke_glass', False), ('dismissed_at__isnull', False), ('standing', None)), _connector='OR'), name='decision_taken_back_by_its_own'),
        ),
        *(migrations.RunSQL(one) for one in (COLUMN, TAKEN_BACK)),
    ]
