"""Handing a file to whoever asked for it, so that no browser shows or runs it."""

from typing import Final

from django.http import HttpResponse
from django.utils.http import content_disposition_header

from sessions.media import TYPES, file_name
from sessions.models import Artifact

POLICY: Final = "default-src 'none'; sandbox"


def download(artifact: Artifact, content: bytes) -> HttpResponse:
    """An attachment of its type, kept by no cache, with no rights on our origin."""
    kind = artifact.media_type
    name = file_name(artifact.name, media_type=kind, otherwise=artifact.digest[:12])
    response = HttpResponse(content, content_type=TYPES[kind].served)
    response["Content-Disposition"] = content_disposition_header(True, name)
    response["Content-Security-Policy"] = POLICY
    response["X-Content-Type-Options"] = "nosniff"
    response["Cache-Control"] = "no-store"
    return response
