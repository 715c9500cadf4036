"""Files of sessions, put and looked for."""

from pathlib import Path
from typing import Any

from django.conf import settings

from kernel.scope import tenant_transaction
from sessions.artifacts import artifact_with, artifacts_of, content_of
from sessions.models import Artifact, Session
from sessions.services import Upload, put_artifact
from tenants.checks import Operator
from tenants.principal import Principal
from tests.checkpoints.tampering import tamper

BY = Operator.CONSOLE
PDF = b"%PDF-1.7\nthe invoice"
TYPES: dict[str, bytes] = {
    "application/json": b'{"total": "12.50"}',
    "application/pdf": PDF,
    "image/gif": b"GIF89a\x01",
    "image/jpeg": b"\xff\xd8\xff\xe0\x00",
    "image/png": b"\x89PNG\r\n\x1a\n\x00",
    "image/webp": b"RIFF\x10\x00\x00\x00WEBPVP8 ",
    "text/csv": b"a,b\n1,2\n",
    "text/markdown": "# Schlüssel\n".encode(),
    "text/plain": "ключ\tend\r\n".encode(),
}


def put(who: Principal, session: Session, content: bytes = PDF, **more: Any) -> Any:
    upload = Upload(**{"content": content, "media_type": "application/pdf", **more})
    return put_artifact(who=who, session_id=session.id, upload=upload)


def content(who: Principal, session: Session, digest: str) -> bytes:
    with tenant_transaction(who.tenant_id):
        fresh = Session.objects.get(id=session.id)
        return content_of(artifact_with(fresh, digest))


def listed(who: Principal, session: Session) -> list[str]:
    with tenant_transaction(who.tenant_id):
        return [one.digest for one in artifacts_of(session)]


def rows(who: Principal) -> int:
    with tenant_transaction(who.tenant_id):
        return Artifact.objects.filter(tenant_id=who.tenant_id).count()


def folder(session: Session) -> Path:
    place = settings.STORAGES["artifacts"]["OPTIONS"]["location"]
    return Path(place) / str(session.tenant_id) / str(session.id)


def files(session: Session) -> list[Path]:
    there = folder(session)
    return sorted(there.iterdir()) if there.exists() else []


def age(artifact: Artifact) -> None:
    tamper("agent_sessions_artifact", "expires_at = now()", artifact.id)
