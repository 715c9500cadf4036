"""What names a person and came after the purge was written goes with it, too."""

from django.db import migrations

# The function that was is the second half of the one that is: it also ends the work.
PURGE = """
SET LOCAL ROLE keyturn_ledger;
ALTER FUNCTION keyturn_purge_session(uuid, integer) RENAME TO keyturn_purge_rows;
REVOKE ALL ON FUNCTION keyturn_purge_rows(uuid, integer) FROM PUBLIC, keyturn_app;
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

  UPDATE public.approvals_aaprequest SET sealed = '', sealed_note = '' WHERE id IN (
    SELECT a.id FROM public.approvals_aaprequest a
      JOIN public.approvals_request q ON q.id = a.request_id
     WHERE q.session_id = of_session AND (a.sealed <> '' OR a.sealed_note <> '')
     LIMIT most);
  GET DIAGNOSTICS done = ROW_COUNT;
  IF done > 0 THEN RETURN done; END IF;

  UPDATE public.approvals_context SET manifest = '{}' WHERE id IN (
    SELECT c.id FROM public.approvals_context c
      JOIN public.agent_sessions_run r ON r.id = c.run_id
     WHERE r.session_id = of_session AND c.manifest <> '{}' LIMIT most);
  GET DIAGNOSTICS done = ROW_COUNT;
  IF done > 0 THEN RETURN done; END IF;

  UPDATE public.checkpoints_restorereport SET report = report - 'effects' - 'advice'
   WHERE id IN (
    SELECT p.id FROM public.checkpoints_restorereport p
      JOIN public.agent_sessions_run r ON r.id = p.run_id
     WHERE r.session_id = of_session AND p.report ?| ARRAY['effects', 'advice']
     LIMIT most);
  GET DIAGNOSTICS done = ROW_COUNT;
  IF done > 0 THEN RETURN done; END IF;

  UPDATE public.checkpoints_fork SET reason = '' WHERE id IN (
    SELECT f.id FROM public.checkpoints_fork f
      JOIN public.agent_sessions_run r ON r.id = f.run_id
     WHERE r.session_id = of_session AND f.reason <> '' LIMIT most);
  GET DIAGNOSTICS done = ROW_COUNT;
  IF done > 0 THEN RETURN done; END IF;

  UPDATE public.approvals_request SET tool_call_id = NULL WHERE id IN (
    SELECT id FROM public.approvals_request
     WHERE session_id = of_session AND tool_call_id IS NOT NULL LIMIT most);
  GET DIAGNOSTICS done = ROW_COUNT;
  IF done > 0 THEN RETURN done; END IF;

  RETURN public.keyturn_purge_rows(of_session, most);
END $$;
REVOKE ALL ON FUNCTION keyturn_purge_session(uuid, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION keyturn_purge_session(uuid, integer) TO keyturn_app;
RESET ROLE;
"""
ERASES = {
    "approvals_aaprequest": "sealed, sealed_note",
    "approvals_context": "manifest",
    "approvals_request": "tool_call_id",
    "checkpoints_restorereport": "report",
    "checkpoints_fork": "reason",
}
RIGHTS = (
    "GRANT UPDATE (sealed_note) ON approvals_aaprequest TO keyturn_app",
    *(
        f"GRANT SELECT, UPDATE ({kept}) ON {name} TO keyturn_ledger"
        for name, kept in ERASES.items()
    ),
)


class Migration(migrations.Migration):
    dependencies = [
        ("approvals", "0013_aap_sealed"),
        ("checkpoints", "0007_secret_names"),
    ]

    operations = [migrations.RunSQL(statement) for statement in (*RIGHTS, PURGE)]
