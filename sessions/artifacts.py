"""Where the content of artifacts is, sealed under the key of their session.

A file has the name of its row, so that none is ever written twice or shared between
sessions; which content it is, only the row and whoever holds the key can tell.
"""

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from typing import Final
from uuid import UUID

from django.core.files.base import ContentFile
from django.core.files.storage import Storage, storages
from django.db.models import QuerySet

from kernel.clock import ClockTimestamp
from kernel.ids import new_id
from kernel.problems import NOT_FOUND, declare
from kernel.sealing import Unreadable, new_key, seal, unseal
from sessions.models import Artifact, Session
from sessions.vault import session_key
from tenants.vault import DATA_ERASED

ARTIFACT_UNREADABLE: Final = declare(
    "artifact_unreadable", status=409, title="An artifact is not as it was put"
)
STORAGE: Final = "artifacts"  # of Django's setting STORAGES


def artifacts_of(session: Session) -> QuerySet[Artifact]:
    """What is there. Raises `data_erased` (410) once the session was erased."""
    if session.erased_at is not None:
        raise DATA_ERASED()
    mine = Artifact.objects.filter(tenant_id=session.tenant_id, session_id=session.id)
    return mine.filter(removed_at=None, expires_at__gt=ClockTimestamp())


def artifact_with(session: Session, digest: str) -> Artifact:
    """The one of that content. Raises `not_found` (404), `data_erased` (410)."""
    row = artifacts_of(session).filter(sha256=bytes.fromhex(digest)).first()
    if row is None:
        raise NOT_FOUND()
    return row


def write(artifact: Artifact, content: bytes) -> None:
    """Seal the content and store it. Raises `data_erased` (410)."""
    key = session_key(artifact.tenant_id, artifact.session_id)
    sealed = seal(key, content, bound=_bound(artifact))
    _storage().save(_place(artifact), ContentFile(sealed))


def content_of(artifact: Artifact) -> bytes:
    """The very bytes that were put. Raises `artifact_unreadable` (409), `data_erased`."""
    key = session_key(artifact.tenant_id, artifact.session_id)
    try:
        with _storage().open(_place(artifact)) as file:
            content = unseal(key, file.read(), bound=_bound(artifact))
    except (Unreadable, FileNotFoundError) as error:
        raise ARTIFACT_UNREADABLE() from error
    if hashlib.sha256(content).digest() != bytes(artifact.sha256):
        raise ARTIFACT_UNREADABLE()
    return content


def remove(artifact: Artifact) -> None:
    """Remove the file, if it is still there."""
    _storage().delete(_place(artifact))


def sessions_with_files(tenant_id: UUID) -> Iterator[UUID]:
    """The sessions that files are stored for, whether or not they have rows."""
    folders, _ = _listed(f"{tenant_id}")
    yield from _ids(folders)


def files_of(tenant_id: UUID, session_id: UUID) -> set[UUID]:
    """The ids of artifacts that have files."""
    _, names = _listed(f"{tenant_id}/{session_id}")
    return set(_ids(names))


def remove_files(tenant_id: UUID, session_id: UUID, ids: set[UUID]) -> None:
    """Remove these files of a session, and its folder once nothing is in it."""
    folder = f"{tenant_id}/{session_id}"
    for one in ids:
        _storage().delete(f"{folder}/{one}")
    with suppress(OSError):  # something is in it
        _storage().delete(folder)


def try_storage() -> bool:
    """Whether what is written comes back. Raises as the storage does."""
    name, content = f"probe/{new_id()}", new_key()
    place = _storage().save(name, ContentFile(content))
    try:
        with _storage().open(place) as file:
            return bytes(file.read()) == content
    finally:
        _storage().delete(place)


def _storage() -> Storage:
    return storages[STORAGE]


def _place(artifact: Artifact) -> str:
    return f"{artifact.tenant_id}/{artifact.session_id}/{artifact.id}"


def _bound(artifact: Artifact) -> bytes:
    """Whose it is, and which content of which type: none of it changes unnoticed."""
    ids = artifact.tenant_id.bytes + artifact.session_id.bytes + artifact.id.bytes
    what = bytes(artifact.sha256) + artifact.media_type.encode()
    return b"keyturn/artifact/v1\0" + ids + what


def _listed(folder: str) -> tuple[list[str], list[str]]:
    try:
        return _storage().listdir(folder)
    except FileNotFoundError:
        return [], []


def _ids(names: list[str]) -> Iterator[UUID]:
    """What else lies there is not ours, and is left alone."""
    for name in names:
        with suppress(ValueError):
            yield UUID(name)
