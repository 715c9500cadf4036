"""Erasing what a session held: the one way in which rows that never change may go.

The application has no right to delete an item or to change a revision. These two
functions of the owner do it for one session at a time, inside its tenant's scope, and
never for one that runs or is under a legal hold, whatever the caller believes.
"""

from django.db import migrations

# At once: the key, and whatever names a person in the row itself.
ERASE = """
CREATE FUNCTION keyturn_erase_session(of_session uuid) RETURNS timestamptz
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  at timestamptz;
BEGIN
  PERFORM FROM public.agent_sessions_session WHERE id = of_session FOR NO KEY UPDATE;
  IF EXISTS (SELECT FROM public.agent_sessions_hold
             WHERE lifted_at IS NULL AND (session_id = of_session OR session_id IS NULL))
  THEN
    RAISE EXCEPTION 'the session is under a legal hold'
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  IF EXISTS (SELECT FROM public.agent_sessions_run WHERE session_id = of_session
             AND state NOT IN ('completed', 'failed', 'cancelled')) THEN
    RAISE EXCEPTION 'a run of the session has not ended'
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  UPDATE public.agent_sessions_session
     SET salt = '', subject = '[erased]', title = '', external_id = NULL,
         erased_at = clock_timestamp(), due_at = clock_timestamp()
   WHERE id = of_session AND erased_at IS NULL
  RETURNING erased_at INTO at;
  RETURN at;
END $$;
"""

# In steps: how many rows one of them touched. Zero: nothing is left, and it is over.
PURGE = """
CREATE FUNCTION keyturn_purge_session(of_session uuid, most integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  done integer;
BEGIN
  PERFORM FROM public.agent_sessions_session
    WHERE id = of_session AND erased_at IS NOT NULL FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the session is not erased'
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;

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
     SET external_id = '', action = convert_to(
       (convert_from(action, 'UTF8')::jsonb || '{"arguments": {}, "target": null}')::text,
       'UTF8') WHERE id IN (
    SELECT e.id FROM public.checkpoints_effect e
      JOIN public.agent_sessions_run r ON r.id = e.run_id
     WHERE r.session_id = of_session AND (e.external_id <> ''
       OR convert_from(e.action, 'UTF8')::jsonb -> 'arguments' <> '{}'
       OR convert_from(e.action, 'UTF8')::jsonb -> 'target' <> 'null')
     LIMIT most);
  GET DIAGNOSTICS done = ROW_COUNT;
  IF done > 0 THEN RETURN done; END IF;

  UPDATE public.approvals_revision
     SET reason = '', envelope = convert_to(jsonb_set(
       convert_from(envelope, 'UTF8')::jsonb
         || '{"arguments": {}, "target": null, "preconditions": []}',
       '{requester,subject}', '"[erased]"')::text, 'UTF8') WHERE id IN (
    SELECT v.id FROM public.approvals_revision v
      JOIN public.approvals_request q ON q.id = v.request_id
     WHERE q.session_id = of_session
       AND convert_from(v.envelope, 'UTF8')::jsonb #>> '{requester,subject}'
           <> '[erased]' LIMIT most);
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

  UPDATE public.approvals_verificationreport SET checks = '[]', reason = '' WHERE id IN (
    SELECT p.id FROM public.approvals_verificationreport p
      JOIN public.approvals_request q ON q.id = p.request_id
     WHERE q.session_id = of_session AND p.checks <> '[]' LIMIT most);
  GET DIAGNOSTICS done = ROW_COUNT;
  IF done > 0 THEN RETURN done; END IF;

  UPDATE public.approvals_grant SET reason = '' WHERE id IN (
    SELECT g.id FROM public.approvals_grant g
      JOIN public.approvals_request q ON q.id = g.request_id
     WHERE q.session_id = of_session AND g.reason <> '' LIMIT most);
  GET DIAGNOSTICS done = ROW_COUNT;
  IF done > 0 THEN RETURN done; END IF;

  UPDATE public.approvals_request
     SET title = '[erased]', explanation = '', response = NULL, response_schema = NULL,
         resolution = '' WHERE id IN (
    SELECT id FROM public.approvals_request
     WHERE session_id = of_session AND title <> '[erased]' LIMIT most);
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
"""

# Deeds that are done, messages that were sent, answers that nobody asks for again.
LEFTOVERS = """
CREATE FUNCTION keyturn_purge_leftovers(before interval, most integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  answers integer;
  jobs integer;
  told integer;
BEGIN
  before := greatest(before, interval '1 day');
  DELETE FROM public.tenants_idempotencyrecord WHERE id IN (
    SELECT id FROM public.tenants_idempotencyrecord
     WHERE created_at < clock_timestamp() - before ORDER BY created_at LIMIT most);
  GET DIAGNOSTICS answers = ROW_COUNT;
  DELETE FROM public.approvals_resumejob WHERE id IN (
    SELECT j.id FROM public.approvals_resumejob j
      JOIN public.approvals_request q ON q.id = j.request_id
      JOIN public.agent_sessions_run r ON r.id = q.run_id
     WHERE j.state = 'done' AND j.ended_at < clock_timestamp() - before
       AND r.state IN ('completed', 'failed', 'cancelled') LIMIT most);
  GET DIAGNOSTICS jobs = ROW_COUNT;
  DELETE FROM public.approvals_webhookattempt WHERE delivery_id IN (
    SELECT id FROM public.approvals_webhookdelivery
     WHERE due_at IS NULL AND ended_at < clock_timestamp() - before
     ORDER BY ended_at LIMIT most);
  DELETE FROM public.approvals_webhookdelivery WHERE id IN (
    SELECT d.id FROM public.approvals_webhookdelivery d
     WHERE d.due_at IS NULL AND d.ended_at < clock_timestamp() - before
       AND NOT EXISTS (SELECT FROM public.approvals_webhookattempt a
                       WHERE a.delivery_id = d.id)
     ORDER BY d.ended_at LIMIT most);
  GET DIAGNOSTICS told = ROW_COUNT;
  RETURN answers + jobs + told;
END $$;

CREATE INDEX idempotency_oldest ON tenants_idempotencyrecord (tenant_id, created_at);
REVOKE ALL ON FUNCTION keyturn_erase_session(uuid), keyturn_purge_session(uuid, integer),
  keyturn_purge_leftovers(interval, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION keyturn_erase_session(uuid),
  keyturn_purge_session(uuid, integer), keyturn_purge_leftovers(interval, integer)
  TO keyturn_app;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("approvals", "0008_context"),
        ("checkpoints", "0005_seal"),
        ("agent_sessions", "0006_retention"),
        ("tenants", "0006_data_key"),
    ]

    operations = [
        migrations.RunSQL(statement) for statement in (ERASE, PURGE, LEFTOVERS)
    ]
