"""Files of a session: put, listed, fetched and taken away."""

from __future__ import annotations

from typing import Literal
from urllib.parse import quote

from keyturn.calling import Answer, Call, get, key_of, listed, path_of, post
from keyturn.documents import Artifact, Page, read

Type = Literal[
    "application/json",
    "application/pdf",
    "image/gif",
    "image/jpeg",
    "image/png",
    "image/webp",
    "text/csv",
    "text/markdown",
    "text/plain",
]


def put_artifact(
    session: str,
    content: bytes,
    *,
    type: Type,
    name: str | None = None,
    expires_in: int | None = None,
    key: str | None = None,
) -> Call[Artifact]:
    """Keep a file, for `expires_in` seconds; the same content is the same artifact."""
    return Call(
        method="POST",
        path=path_of("sessions", session, "artifacts"),
        content=content,
        kind=type,
        more=_told(name, expires_in),
        key=key_of(key),
        read=lambda answer: read(Artifact, answer.document),
    )


def list_artifacts(
    session: str, *, cursor: str | None = None, limit: int | None = None
) -> Call[Page[Artifact]]:
    """The files of a session that have not expired, newest first."""
    path = path_of("sessions", session, "artifacts")
    return listed(Artifact, path, cursor=cursor, limit=limit)


def get_artifact(session: str, digest: str) -> Call[Artifact]:
    """What a file is."""
    return get(Artifact, path_of("sessions", session, "artifacts", digest))


def get_artifact_content(session: str, digest: str) -> Call[bytes]:
    """The bytes as they were put."""
    return Call(
        method="GET",
        path=path_of("sessions", session, "artifacts", digest, "content"),
        raw=True,
        read=_bytes,
    )


def remove_artifact(
    session: str, digest: str, *, key: str | None = None
) -> Call[Artifact]:
    """Take a file away for good; that it happened stays on record."""
    path = path_of("sessions", session, "artifacts", digest, "remove")
    return post(Artifact, path, {}, key)


def _told(name: str | None, expires_in: int | None) -> dict[str, str]:
    told = {}
    if name is not None:
        told["Content-Disposition"] = f"attachment; filename*=UTF-8''{quote(name, '')}"
    if expires_in is not None:
        told["Keyturn-Expires-In"] = str(expires_in)
    return told


def _bytes(answer: Answer) -> bytes:
    content: bytes = answer.document
    return content
