"""Artifacts go with their session. Their files went first: see `approvals.resume`."""

from django.db import migrations

# The function that was is the second half of the one that is: it also ends the work.
PURGE = """
SET LOCAL ROLE keyturn_ledger;
ALTER FUNCTION keyturn_purge_session(uuid, integer) RENAME TO keyturn_purge_texts;
REVOKE ALL ON FUNCTION keyturn_purge_texts(uuid, integer) FROM PUBLIC, keyturn_app;
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

  DELETE FROM public.agent_sessions_artifact WHERE id IN (
    SELECT id FROM public.agent_sessions_artifact
     WHERE session_id = of_session LIMIT most);
  GET DIAGNOSTICS done = ROW_COUNT;
  IF done > 0 THEN RETURN done; END IF;

  RETURN public.keyturn_purge_texts(of_session, most);
END $$;
REVOKE ALL ON FUNCTION keyturn_purge_session(uuid, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION keyturn_purge_session(uuid, integer) TO keyturn_app;
RESET ROLE;
"""
RIGHTS = "GRANT SELECT, DELETE ON agent_sessions_artifact TO keyturn_ledger"


class Migration(migrations.Migration):
    dependencies = [
        ("approvals", "0016_purge_whole"),
        ("agent_sessions", "0009_artifacts"),
    ]

    operations = [migrations.RunSQL(statement) for statement in (RIGHTS, PURGE)]
