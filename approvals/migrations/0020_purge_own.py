"""Purging one session reads nothing of another, however the database goes about it.

A condition that decodes a row may be put to every row of the table before the session is
looked at: one that is spoilt would keep all others from being purged. `OFFSET 0` says
which rows are there first. The steps that 0016 took over are not repeated.
"""

from django.db import migrations

PURGE = """
SET LOCAL ROLE keyturn_ledger;
CREATE OR REPLACE FUNCTION keyturn_purge_rows(of_session uuid, most integer)
RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  done integer;
BEGIN
  DELETE FROM public.agent_sessions_item WHERE id IN (
    SELECT id FROM public.agent_sessions_item WHERE session_id = of_session LIMIT most);
  GET DIAGNOSTICS done = ROW_COUNT;
  IF done > 0 THEN RETURN done; END IF;

  DELETE FROM public.approvals_summary WHERE id IN (
    SELECT id FROM public.approvals_summary WHERE session_id = of_session LIMIT most);
  GET DIAGNOSTICS done = ROW_COUNT;
  IF done > 0 THEN RETURN done; END IF;

  DELETE FROM public.agent_sessions_fact WHERE id IN (
    SELECT f.id FROM public.agent_sessions_fact f
      JOIN public.agent_sessions_run r ON r.id = f.run_id
     WHERE r.session_id = of_session LIMIT most);
  GET DIAGNOSTICS done = ROW_COUNT;
  IF done > 0 THEN RETURN done; END IF;

  UPDATE public.agent_sessions_removal SET reason = '' WHERE id IN (
    SELECT id FROM public.agent_sessions_removal
     WHERE session_id = of_session AND reason <> '' LIMIT most);
  GET DIAGNOSTICS done = ROW_COUNT;
  IF done > 0 THEN RETURN done; END IF;

  UPDATE public.agent_sessions_transition SET changes = '{}', reason = '' WHERE id IN (
    SELECT t.id FROM public.agent_sessions_transition t
      JOIN public.agent_sessions_run r ON r.id = t.run_id
     WHERE r.session_id = of_session AND (t.changes <> '{}' OR t.reason <> '')
     LIMIT most);
  GET DIAGNOSTICS done = ROW_COUNT;
  IF done > 0 THEN RETURN done; END IF;

  UPDATE public.checkpoints_checkpoint
     SET payload = '', is_sealed = false, header = '{}' WHERE id IN (
    SELECT c.id FROM public.checkpoints_checkpoint c
      JOIN public.agent_sessions_run r ON r.id = c.run_id
     WHERE r.session_id = of_session AND (c.payload <> '' OR c.header <> '{}')
     LIMIT most);
  GET DIAGNOSTICS done = ROW_COUNT;
  IF done > 0 THEN RETURN done; END IF;

  UPDATE public.checkpoints_attempt SET evidence = '{}' WHERE id IN (
    SELECT a.id FROM public.checkpoints_attempt a
      JOIN public.checkpoints_effect e ON e.id = a.effect_id
      JOIN public.agent_sessions_run r ON r.id = e.run_id
     WHERE r.session_id = of_session AND a.evidence <> '{}' LIMIT most);
  GET DIAGNOSTICS done = ROW_COUNT;
  IF done > 0 THEN RETURN done; END IF;

  UPDATE public.checkpoints_effect
     SET external_id = '', action = convert_to(emptied.bare::text, 'UTF8')
    FROM (
      SELECT v.id, held.said || '{"arguments": {}, "target": null}' AS bare
        FROM (SELECT e.id, e.external_id, e.action FROM public.checkpoints_effect e
                JOIN public.agent_sessions_run r ON r.id = e.run_id
               WHERE r.session_id = of_session OFFSET 0) v,
        LATERAL (SELECT convert_from(v.action, 'UTF8')::jsonb AS said) held
       WHERE v.external_id <> '' OR held.said -> 'arguments' <> '{}'
          OR held.said -> 'target' <> 'null'
       LIMIT most) emptied
   WHERE checkpoints_effect.id = emptied.id;
  GET DIAGNOSTICS done = ROW_COUNT;
  IF done > 0 THEN RETURN done; END IF;

  UPDATE public.approvals_decision
     SET reason = '', response = NULL, dismissed_reason = '' WHERE id IN (
    SELECT d.id FROM public.approvals_decision d
      JOIN public.approvals_request q ON q.id = d.request_id
     WHERE q.session_id = of_session
       AND (d.reason <> '' OR d.response IS NOT NULL OR d.dismissed_reason <> '')
     LIMIT most);
  GET DIAGNOSTICS done = ROW_COUNT;
  IF done > 0 THEN RETURN done; END IF;

  UPDATE public.approvals_grant SET reason = '' WHERE id IN (
    SELECT g.id FROM public.approvals_grant g
      JOIN public.approvals_request q ON q.id = g.request_id
     WHERE q.session_id = of_session AND g.reason <> '' LIMIT most);
  GET DIAGNOSTICS done = ROW_COUNT;
  IF done > 0 THEN RETURN done; END IF;

  UPDATE public.agent_sessions_run SET reason = '', result = NULL, external_id = NULL
   WHERE id IN (
    SELECT id FROM public.agent_sessions_run
     WHERE session_id = of_session
       AND (reason <> '' OR result IS NOT NULL OR external_id IS NOT NULL) LIMIT most);
  GET DIAGNOSTICS done = ROW_COUNT;
  IF done > 0 THEN RETURN done; END IF;

  UPDATE public.agent_sessions_session SET due_at = NULL WHERE id = of_session;
  RETURN 0;
END $$;
RESET ROLE;
"""


class Migration(migrations.Migration):
    dependencies = [("approvals", "0019_sights")]

    operations = [migrations.RunSQL(PURGE)]
