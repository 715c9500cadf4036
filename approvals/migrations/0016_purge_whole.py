"""Nothing counts as erased because of a word that an agent may have written itself.

Whether a row is empty is asked of each of its columns. Messages to webhooks that tell of
the session go with it, too.
"""

from django.db import migrations

# The function that was is the second half of the one that is: it also ends the work,
# which begins anew for as long as there are messages.
PURGE = """
SET LOCAL ROLE keyturn_ledger;
ALTER FUNCTION keyturn_purge_session(uuid, integer) RENAME TO keyturn_purge_more;
REVOKE ALL ON FUNCTION keyturn_purge_more(uuid, integer) FROM PUBLIC, keyturn_app;
CREATE FUNCTION keyturn_purge_session(of_session uuid, most integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  begun timestamptz;
  whose uuid;
  done integer;
  told uuid[];
BEGIN
  SELECT created_at, tenant_id INTO begun, whose FROM public.agent_sessions_session
    WHERE id = of_session AND erased_at IS NOT NULL FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the session is not erased'
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;

  UPDATE public.approvals_revision
     SET reason = '', envelope = convert_to(emptied.bare::text, 'UTF8')
    FROM (
      SELECT id, bare FROM (
        SELECT v.id, v.reason, held.said,
               CASE jsonb_typeof(held.said) WHEN 'object' THEN jsonb_set(
                 held.said || '{"arguments": {}, "target": null, "preconditions": []}',
                 '{requester,subject}', '"[erased]"')
               ELSE '{}' END AS bare
          FROM (SELECT r.id, r.reason, r.envelope FROM public.approvals_revision r
                  JOIN public.approvals_request q ON q.id = r.request_id
                 WHERE q.session_id = of_session OFFSET 0) v,  -- read no other's
          LATERAL (SELECT convert_from(v.envelope, 'UTF8')::jsonb AS said) held) found
       WHERE reason <> '' OR said <> bare LIMIT most) emptied
   WHERE approvals_revision.id = emptied.id;
  GET DIAGNOSTICS done = ROW_COUNT;
  IF done > 0 THEN RETURN done; END IF;

  UPDATE public.approvals_verificationreport SET checks = '[]', reason = '' WHERE id IN (
    SELECT p.id FROM public.approvals_verificationreport p
      JOIN public.approvals_request q ON q.id = p.request_id
     WHERE q.session_id = of_session AND (p.checks <> '[]' OR p.reason <> '')
     LIMIT most);
  GET DIAGNOSTICS done = ROW_COUNT;
  IF done > 0 THEN RETURN done; END IF;

  UPDATE public.approvals_request
     SET title = '[erased]', explanation = '', response = NULL, response_schema = NULL,
         resolution = '' WHERE id IN (
    SELECT id FROM public.approvals_request
     WHERE session_id = of_session AND (title <> '[erased]' OR explanation <> ''
       OR response IS NOT NULL OR response_schema IS NOT NULL OR resolution <> '')
     LIMIT most);
  GET DIAGNOSTICS done = ROW_COUNT;
  IF done > 0 THEN RETURN done; END IF;

  done := public.keyturn_purge_more(of_session, most);
  IF done > 0 THEN RETURN done; END IF;

  -- Of an agent's texts only those with the id in them are read as JSON.
  SELECT array_agg(id) INTO told FROM (
    SELECT d.id FROM public.approvals_webhookdelivery d
     WHERE d.tenant_id = whose AND d.created_at >= begun
       AND CASE WHEN strpos(d.body, of_session::text) > 0
       THEN d.body::jsonb #>> '{data,session}' = of_session::text ELSE false END
     LIMIT most) found;
  IF told IS NULL THEN RETURN 0; END IF;
  DELETE FROM public.approvals_webhookattempt WHERE delivery_id = ANY (told);
  DELETE FROM public.approvals_webhookdelivery WHERE id = ANY (told);
  GET DIAGNOSTICS done = ROW_COUNT;
  UPDATE public.agent_sessions_session SET due_at = clock_timestamp()
   WHERE id = of_session;
  RETURN done;
END $$;
REVOKE ALL ON FUNCTION keyturn_purge_session(uuid, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION keyturn_purge_session(uuid, integer) TO keyturn_app;
RESET ROLE;
"""


class Migration(migrations.Migration):
    dependencies = [("approvals", "0015_policy_drafts")]

    operations = [migrations.RunSQL(PURGE)]
