"""Is this the correct user, session, tenant and workflow, and all still enabled?"""

from approvals.checks.matter import Matter
from kernel.outcome import Outcome, Passed, Refused
from tenants.models import Tenant


def check_identity(matter: Matter) -> Outcome:
    """The envelope's names against the rows as they are now."""
    return _enabled(matter) or _same(matter) or Passed({"agent": matter.agent.name})


def _enabled(matter: Matter) -> Refused | None:
    if matter.tenant.state != Tenant.State.ACTIVE:
        return _stop("tenant_stopped", "This tenant has been stopped.")
    if not matter.agent.enabled:
        return _stop("agent_disabled", f"{matter.agent.name} has been switched off.")
    if matter.key.revoked_at is not None:
        return _stop("key_revoked", "The key that asked has been revoked.")
    if matter.key.expires_at is not None and matter.now >= matter.key.expires_at:
        return _stop("key_expired", "The key that asked has expired.")
    return None


def _same(matter: Matter) -> Refused | None:
    record, asked = matter.envelope.record, matter.envelope.requester
    expected = {
        "tenant": str(matter.tenant.id),
        "session": str(matter.session.id),
        "run": str(matter.run.id),
        "workflow": str(matter.run.workflow_id),
        "pause": str(matter.pause.id),
        "request": str(matter.request.id),
        "revision": matter.revision.number,
    }
    who = {
        "agent": str(matter.agent.id),
        "key": str(matter.key.id),
        "environment": matter.key.environment,
        "subject": matter.session.subject,
    }
    wrong = [name for name, value in expected.items() if record[name] != value]
    wrong += [name for name, value in who.items() if asked[name] != value]
    if wrong:
        return _stop("mismatch", f"Not what was approved: {', '.join(wrong)}.")
    return None


def _stop(code: str, reason: str) -> Refused:
    return Refused(f"identity.{code}", reason, "stop")
