"""Opening sessions and adding to what was said in them."""

import hashlib
from collections.abc import Sequence
from typing import Final
from uuid import UUID

from django.db.models import Max

from kernel.ids import new_id
from kernel.problems import NOT_FOUND, declare
from sessions.models import Item, Run, Session
from sessions.queries import found, lock_own_session, sessions_of
from sessions.runs import require_writer
from sessions.vault import seal_items
from tenants.idempotency import Once
from tenants.principal import Principal
from tenants.verbs import Verb, perform

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
        title=title,
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


def append_items(
    *,
    who: Principal,
    session_id: UUID,
    items: Sequence[str],
    run_id: UUID | None = None,
    fence: int | None = None,
    once: Once | None = None,
) -> list[Item]:
    """Add items, exact JSON texts, after the last one; all of them or none.

    Positions count from 1 without a gap. Raises `not_found` (404) for a session or
    run that is not the agent's, `stale_writer` (409) when `fence` is another's.
    """

    def work(verb: Verb) -> list[Item]:
        session = lock_own_session(who, session_id)
        _check_run(session, run_id, fence)
        added = _add(session, items, run_id)
        if added:
            verb.record(
                "session.items_appended",
                actor=who.actor,
                subject=("session", session.id),
                data=_extent(added),
            )
        return added

    return perform(who.tenant_id, work, once=once)


def _identity(draft: Session) -> dict[str, object]:
    if draft.external_id is None:
        return {"id": draft.id}
    return {"external_id": draft.external_id}


def _check_run(session: Session, run_id: UUID | None, fence: int | None) -> None:
    if run_id is None:
        return
    runs = Run.objects.filter(tenant_id=session.tenant_id, session_id=session.id)
    run = runs.filter(id=run_id).first()
    if run is None:
        raise NOT_FOUND(None, "/run")
    if fence is not None:
        require_writer(run, fence)


def _add(session: Session, items: Sequence[str], run_id: UUID | None) -> list[Item]:
    said = Item.objects.filter(tenant_id=session.tenant_id, session_id=session.id)
    last = said.aggregate(last=Max("position"))["last"] or 0
    added = [
        _draft(session, run_id, position, raw)
        for position, raw in enumerate(items, start=last + 1)
    ]
    seal_items(added, session=session)
    return Item.objects.bulk_create(added)


def _draft(session: Session, run_id: UUID | None, position: int, raw: str) -> Item:
    item = Item(
        tenant_id=session.tenant_id,
        session_id=session.id,
        run=run_id,
        position=position,
    )
    item.raw = raw
    return item


def _extent(added: Sequence[Item]) -> dict[str, object]:
    """Where the items are, and a digest that their ids keep from being guessed."""
    digest = hashlib.sha256()
    for item in added:
        digest.update(item.id.bytes + hashlib.sha256(item.raw.encode()).digest())
    first, last = added[0].position, added[-1].position
    return {"first": first, "last": last, "sha256": digest.hexdigest()}
