"""How long things are kept, and what is held; an administrator's or operator's word."""

from typing import Final
from uuid import UUID

from kernel.clock import ClockTimestamp
from kernel.problems import NOT_FOUND, declare
from sessions.models import Hold, Retention, Session
from sessions.redaction import redacted_text
from tenants.checks import Acting, permitted
from tenants.verbs import Gate, Verb, perform

RETENTION_INVALID: Final = declare(
    "retention_invalid", status=422, title="A retention is 1 to 36,500 days"
)
REASON_MISSING: Final = declare(
    "hold_reason_missing", status=422, title="A legal hold has a reason"
)
MOST_DAYS: Final = 36_500


def set_retention(
    *, tenant_id: UUID, by: Acting, days: int | None, kind: str = ""
) -> None:
    """Keep what is of this kind of work for `days` after it ended; None: for ever.

    An empty kind is for whatever has no term of its own. Raises `retention_invalid`.
    """
    if days is not None and not 1 <= days <= MOST_DAYS:
        raise RETENTION_INVALID(None, "/days")

    def work(verb: Verb) -> None:
        actor = permitted(tenant_id, by)
        rows = Retention.objects.filter(tenant_id=tenant_id, kind=kind)
        if days is None:
            rows.delete()
        else:
            fresh = Retention(tenant_id=tenant_id, kind=kind, days=days)
            Retention.objects.bulk_create(
                [fresh],
                update_conflicts=True,
                unique_fields=["tenant", "kind"],
                update_fields=["days"],
            )
        data = {"kind": kind, "days": days}
        about = ("tenant", tenant_id)
        verb.record("retention.set", actor=actor, subject=about, data=data)

    perform(tenant_id, work)


def place_hold(
    *, tenant_id: UUID, by: Acting, reason: str, session_id: UUID | None = None
) -> Hold:
    """Keep a session, or all of the tenant, from being erased until it is lifted.

    What is being erased ends first; what begins later finds it. Raises `not_found`
    (404), `hold_reason_missing` (422), `busy` (503).
    """
    if not reason.strip():
        raise REASON_MISSING(None, "/reason")

    def work(verb: Verb) -> Hold:
        actor = permitted(tenant_id, by, while_stopped=True)
        mine = Session.objects.filter(tenant_id=tenant_id)
        if session_id is not None and not mine.filter(id=session_id).exists():
            raise NOT_FOUND()
        hold = Hold.objects.create(
            tenant_id=tenant_id,
            session_id=session_id,
            reason=redacted_text(reason.strip(), tenant_id),
        )
        data = {"session": session_id and str(session_id)}
        verb.record("hold.placed", actor=actor, subject=("hold", hold.id), data=data)
        return hold

    return perform(tenant_id, work, gate=Gate.EXCLUSIVE)


def lift_hold(*, tenant_id: UUID, by: Acting, hold_id: UUID, reason: str) -> None:
    """End a hold, for a reason that stays in the log.

    Raises `not_found` (404) if none of this id is in force, `hold_reason_missing` (422).
    """
    if not reason.strip():
        raise REASON_MISSING(None, "/reason")

    def work(verb: Verb) -> None:
        actor = permitted(tenant_id, by, while_stopped=True)
        held = Hold.objects.filter(tenant_id=tenant_id, id=hold_id, lifted_at=None)
        if not held.update(lifted_at=ClockTimestamp()):
            raise NOT_FOUND()
        why = {"reason": redacted_text(reason.strip(), tenant_id)}
        verb.record("hold.lifted", actor=actor, subject=("hold", hold_id), data=why)

    perform(tenant_id, work)
