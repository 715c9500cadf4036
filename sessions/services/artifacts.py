"""Putting files into sessions, and taking them away.

The file is written before the row is committed, and removed after the row says so: what
has a row has its file. What a crash leaves without a row, `sweep_files` finds.
"""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db.models import Exists, OuterRef, Q

from audit.append import Actor
from kernel.clock import ClockTimestamp, database_now
from kernel.problems import declare
from kernel.scope import tenant_transaction
from kernel.update import update_exactly_one
from sessions.artifacts import (
    artifact_with,
    files_of,
    remove,
    remove_files,
    sessions_with_files,
    write,
)
from sessions.holds import LEGAL_HOLD, is_held
from sessions.media import is_what_it_says
from sessions.models import Artifact, Hold, Session
from sessions.queries import lock_own_session, locked
from sessions.redaction import redacted_text
from sessions.vault import session_fingerprint
from tenants.idempotency import Once
from tenants.principal import Principal
from tenants.vault import DATA_ERASED
from tenants.verbs import Gate, Verb, perform

TYPE_MISMATCH: Final = declare(
    "artifact_type_mismatch",
    status=422,
    title="The content is not of the type that it was sent as",
)
TOO_MANY_ARTIFACTS: Final = declare(
    "too_many_artifacts", status=409, title="The session has no room for more artifacts"
)
MOST_ARTIFACTS: Final = 1_000
"""As many as one session has."""
MOST_NAME: Final = 200  # characters
STEP: Final = 100
"""Artifacts of one transaction."""
_SYSTEM: Final = Actor(type="system", id="keyturn")


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """A file as it arrives; `expires_in` seconds, or as long as the installation says."""

    content: bytes
    media_type: str
    name: str = ""
    expires_in: int | None = None


@dataclass(frozen=True, slots=True)
class Put:
    """The artifact of a content, and whether it is new in its session."""

    artifact: Artifact
    fresh: bool


def put_artifact(
    *, who: Principal, session_id: UUID, upload: Upload, once: Once | None = None
) -> Put:
    """Keep a file in a session; the same content again is the same artifact.

    Put again, it is kept until the later of both ends. Raises `not_found` (404),
    `artifact_type_mismatch` (422), `too_many_artifacts` (409), `data_erased` (410).
    """
    if not is_what_it_says(upload.content, upload.media_type):
        raise TYPE_MISMATCH(f"It does not look like {upload.media_type}.")

    def work(verb: Verb) -> Put:
        session = lock_own_session(who, session_id)
        if session.erased_at is not None:
            raise DATA_ERASED()
        kept = _kept_longer(verb, who, session, upload)
        return Put(kept, fresh=False) if kept else _add(verb, who, session, upload)

    return perform(who.tenant_id, work, once=once)


def remove_artifact(
    *, who: Principal, session_id: UUID, digest: str, once: Once | None = None
) -> Artifact:
    """Take an artifact away for good. Raises `not_found` (404), `legal_hold` (409)."""

    def work(verb: Verb) -> Artifact:
        session = lock_own_session(who, session_id)
        artifact = artifact_with(session, digest)
        if is_held(who.tenant_id, session.id):
            raise LEGAL_HOLD()
        _mark_removed(verb, who.actor, artifact, "asked")
        return artifact

    return perform(who.tenant_id, work, once=once)


def expire_artifacts(tenant_id: UUID, *, most: int = STEP) -> int:
    """Take away what was kept as long as it should be, unless it is held; how many."""
    held = Hold.objects.filter(tenant_id=tenant_id, lifted_at=None)
    held = held.filter(Q(session=OuterRef("session")) | Q(session=None))

    def work(verb: Verb) -> int:
        over = locked(Artifact).filter(tenant_id=tenant_id, removed_at=None)
        over = over.filter(expires_at__lte=ClockTimestamp(), session__erased_at=None)
        found = list(over.exclude(Exists(held)).order_by("id")[:most])
        for artifact in found:
            _mark_removed(verb, _SYSTEM, artifact, "expired")
        return len(found)

    return perform(tenant_id, work)


def drop_artifacts(tenant_id: UUID, *, most: int = STEP) -> int:
    """Remove the files of what was taken away, and then the rows; how many."""
    with tenant_transaction(tenant_id):
        gone = Artifact.objects.filter(tenant_id=tenant_id, removed_at__isnull=False)
        found = list(gone.order_by("id")[:most])
    for artifact in found:
        remove(artifact)
    with tenant_transaction(tenant_id):
        rows = Artifact.objects.filter(id__in=[artifact.id for artifact in found])
        rows.filter(tenant_id=tenant_id, removed_at__isnull=False).delete()
    return len(found)


def drop_files(tenant_id: UUID, session_id: UUID) -> None:
    """Remove all files of an erased session; no key opens them any more."""
    remove_files(tenant_id, session_id, files_of(tenant_id, session_id))


def sweep_files(tenant_id: UUID) -> int:
    """Remove files that no row knows, which only a crash leaves behind; how many."""
    return sum(
        _sweep(tenant_id, session_id) for session_id in sessions_with_files(tenant_id)
    )


def _sweep(tenant_id: UUID, session_id: UUID) -> int:
    def work(_verb: Verb) -> set[UUID]:
        # Whoever puts a file holds the session: none is half put while this looks.
        locked(Session).filter(tenant_id=tenant_id, id=session_id).first()
        there = files_of(tenant_id, session_id)
        known = Artifact.objects.filter(tenant_id=tenant_id, session_id=session_id)
        return there - set(known.values_list("id", flat=True))

    unknown = perform(tenant_id, work, gate=Gate.NONE)
    if unknown:
        remove_files(tenant_id, session_id, unknown)
    return len(unknown)


def _kept_longer(
    verb: Verb, who: Principal, session: Session, upload: Upload
) -> Artifact | None:
    """What has this content already, expired or not, kept for as long as is asked now."""
    mine = Artifact.objects.filter(tenant_id=session.tenant_id, session=session)
    digest = hashlib.sha256(upload.content).digest()
    there = mine.filter(sha256=digest, removed_at=None).first()
    until = _until(upload)
    if there is not None and there.expires_at < until:
        there.expires_at = until
        still = mine.filter(id=there.id, removed_at=None)
        update_exactly_one(still, expires_at=until)
        about, data = ("artifact", there.id), {"until": until.isoformat()}
        verb.record("artifact.kept_longer", actor=who.actor, subject=about, data=data)
    return there


def _add(verb: Verb, who: Principal, session: Session, upload: Upload) -> Put:
    mine = Artifact.objects.filter(tenant_id=session.tenant_id, session=session)
    if mine.filter(removed_at=None).count() >= MOST_ARTIFACTS:
        raise TOO_MANY_ARTIFACTS(f"At most {MOST_ARTIFACTS:,}; take some away.")
    artifact = Artifact(
        tenant_id=session.tenant_id,
        session_id=session.id,
        agent_id=who.agent_id,
        sha256=hashlib.sha256(upload.content).digest(),
        name=redacted_text(upload.name, who.tenant_id)[:MOST_NAME],
        media_type=upload.media_type,
        size=len(upload.content),
        expires_at=_until(upload),
    )
    write(artifact, upload.content)
    artifact.save(force_insert=True)
    data = {
        "session": str(session.id),
        "sha256": _fingerprint(artifact),
        "size": artifact.size,
        "type": artifact.media_type,
    }
    about = ("artifact", artifact.id)
    verb.record("artifact.put", actor=who.actor, subject=about, data=data)
    return Put(artifact, fresh=True)


def _mark_removed(verb: Verb, actor: Actor, artifact: Artifact, cause: str) -> None:
    there = Artifact.objects.filter(id=artifact.id, removed_at=None)
    update_exactly_one(there, removed_at=ClockTimestamp())
    about = ("artifact", artifact.id)
    data = {"session": str(artifact.session_id), "cause": cause}
    verb.record("artifact.removed", actor=actor, subject=about, data=data)


def _until(upload: Upload) -> datetime:
    seconds = upload.expires_in
    days = settings.ARTIFACT_DAYS
    kept = timedelta(days=days) if seconds is None else timedelta(seconds=seconds)
    return database_now() + kept


def _fingerprint(artifact: Artifact) -> str:
    """A digest that the session's key keeps from being guessed once that is gone."""
    of = artifact.tenant_id, artifact.session_id
    return session_fingerprint(*of, bytes(artifact.sha256))
