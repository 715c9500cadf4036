"""Taking the audit log away: that somebody did is an entry of the log itself."""

from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from audit.models import Entry
from kernel.clock import database_now
from kernel.scope import tenant_transaction
from sessions.redaction import redacted
from tenants.access import NOT_PERMITTED, OVERSEERS
from tenants.checks import permitted
from tenants.principal import Person, Principal
from tenants.scopes import AUDIT
from tenants.verbs import Gate, Verb, perform

STREAM_TOLD_EVERY: Final = timedelta(hours=1)


def record_export(person: Person, *, form: str, asked: dict[str, Any]) -> UUID:
    """Record who exports what, before the first byte leaves. Returns the tenant's id.

    Raises what `permitted` raises for whoever does not oversee the tenant.
    """

    def work(verb: Verb) -> UUID:
        actor = permitted(
            person.tenant_id, person.member_id, roles=OVERSEERS, while_stopped=True
        )
        data = {"form": form, "asked": redacted(asked, person.tenant_id)[0]}
        about = ("tenant", person.tenant_id)
        verb.record("audit.exported", actor=actor, subject=about, data=data)
        return person.tenant_id

    return perform(person.tenant_id, work)


def record_stream(principal: Principal, *, after: int) -> None:
    """Record that a key reads the log, unless that was recorded within the hour.

    Raises `not_permitted` (403) for a key that was not issued for it.
    """
    _require_audit(principal)
    if not _is_told(principal):
        _record(principal, "audit.streamed", {"after": after})


def record_bundle(principal: Principal, *, run_id: UUID) -> None:
    """Record that a key takes the bundle of a run. Raises `not_permitted` (403)."""
    _require_audit(principal)
    said = {"form": "run", "asked": {"run": str(run_id)}}
    _record(principal, "audit.exported", said)


def _require_audit(principal: Principal) -> None:
    if AUDIT not in principal.scopes:
        raise NOT_PERMITTED()


def _is_told(principal: Principal) -> bool:
    """Two that read at once may both be recorded, which does no harm."""
    with tenant_transaction(principal.tenant_id):
        rows = Entry.objects.filter(
            tenant_id=principal.tenant_id,
            subject_id=principal.key_id,
            kind="audit.streamed",
        )
        return rows.filter(at__gt=database_now() - STREAM_TOLD_EVERY).exists()


def _record(principal: Principal, kind: str, data: dict[str, Any]) -> None:
    def work(verb: Verb) -> None:
        about = ("key", principal.key_id)
        verb.record(kind, actor=principal.actor, subject=about, data=data)

    perform(principal.tenant_id, work, gate=Gate.NONE)
