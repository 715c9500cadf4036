"""The files of the session that an action's arguments name, as `artifact:` and digest."""

import re
from typing import Final

from django.urls import reverse

from approvals.pages.case.record import CaseRecord
from approvals.presentation.case import NamedFile
from kernel.canonical import canonical_bytes
from sessions.artifacts import artifacts_of
from sessions.models import Artifact

NAMED: Final = re.compile(r"artifact:([0-9a-f]{64})(?![0-9a-f])")
MOST: Final = 20


def named_files(record: CaseRecord) -> tuple[NamedFile, ...]:
    """In their order; also what is not there, since the action speaks of it."""
    text = canonical_bytes(record.sealed.get("arguments", {})).decode()
    digests = list(dict.fromkeys(NAMED.findall(text)))[:MOST]
    session = record.request.session
    if not digests or session.erased_at is not None:
        return ()
    wanted = [bytes.fromhex(one) for one in digests]
    found = {one.digest: one for one in artifacts_of(session).filter(sha256__in=wanted)}
    return tuple(_file(record, one, found.get(one)) for one in digests)


def _file(record: CaseRecord, digest: str, found: Artifact | None) -> NamedFile:
    if found is None:
        return NamedFile(digest=digest)
    place = {"slug": record.slug, "id": record.request.run_id, "digest": digest}
    return NamedFile(
        digest=digest,
        href=reverse("file", kwargs=place),
        name=found.name,
        media_type=found.media_type,
        size=found.size,
    )
