"""Opening sessions."""

from typing import Final

from kernel.ids import new_id
from kernel.problems import declare
from sessions.models import Session
from sessions.queries import found, sessions_of
from sessions.redaction import redacted_text
from tenants.idempotency import Once
from tenants.principal import Principal
from tenants.verbs import Verb, perform

MOST_TITLE: Final = 200  # characters
SUBJECT_DIFFERS: Final = declare(
    "subject_differs",
    status=409,
    title="A session with this external id serves another subject",
)


def open_session(
    *,
    who: Principal,
    subject: str,
    title: str = "",
    external_id: str | None = None,
    once: Once | None = None,
) -> Session:
    """Open a session for an end user; again with the same `external_id`, find it.

    Raises `subject_differs` (409): whom a session serves never changes.
    """

    def work(verb: Verb) -> Session:
        return begin_session(
            verb, who=who, subject=subject, title=title, external_id=external_id
        )

    return perform(who.tenant_id, work, once=once)


def begin_session(
    verb: Verb,
    *,
    who: Principal,
    subject: str,
    title: str = "",
    external_id: str | None = None,
) -> Session:
    """As `open_session`, inside a verb."""
    draft = Session(
        id=new_id(),
        tenant_id=who.tenant_id,
        agent_id=who.agent_id,
        subject=subject,
        title=redacted_text(title, who.tenant_id)[:MOST_TITLE],
        external_id=external_id,
    )
    # A concurrent twin is waited for, and then found instead of a conflict.
    Session.objects.bulk_create([draft], ignore_conflicts=external_id is not None)
    session = found(sessions_of(who).filter(**_identity(draft)))
    if session.subject != subject:
        raise SUBJECT_DIFFERS()
    if session.id == draft.id:
        # Whom it serves is personal, and the log is for ever.
        about = ("session", session.id)
        verb.record("session.opened", actor=who.actor, subject=about)
    return session


def _identity(draft: Session) -> dict[str, object]:
    if draft.external_id is None:
        return {"id": draft.id}
    return {"external_id": draft.external_id}
