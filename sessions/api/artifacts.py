"""Files of a session, over HTTP: sent and fetched as they are, never shown."""

import re
from collections.abc import Iterable, Mapping
from typing import IO, Any, Final
from uuid import UUID

from django.conf import settings
from django.http import HttpResponse
from django.utils.http import parse_header_parameters
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from kernel.scope import tenant_transaction
from kernel.strict_json import TOO_LARGE
from sessions.artifacts import (
    ARTIFACT_UNREADABLE,
    artifact_with,
    artifacts_of,
    content_of,
)
from sessions.download import download
from sessions.holds import LEGAL_HOLD
from sessions.media import TYPES
from sessions.models import Artifact
from sessions.queries import own_session
from sessions.rest import HEADER_MALFORMED
from sessions.serializers import NothingSerializer, PageQuery
from sessions.services import Upload, put_artifact, remove_artifact
from sessions.services.artifacts import (
    MOST_NAME,
    TOO_MANY_ARTIFACTS,
    TYPE_MISMATCH,
    Put,
)
from tenants.rest.answers import Rendered, json_text, rendered
from tenants.rest.bodies import JSONNegotiation, StrictJSONParser, body_of
from tenants.rest.exceptions import MEDIA_TYPE
from tenants.rest.once import answered, once_from
from tenants.rest.paging import page
from tenants.rest.refusals import refuses
from tenants.rest.views import AgentView
from tenants.scopes import SESSIONS
from tenants.vault import DATA_ERASED

NAMED: Final = "Content-Disposition"
EXPIRES_IN: Final = "Keyturn-Expires-In"
MOST_SECONDS: Final = 10 * 366 * 24 * 60 * 60
_OTHERWISE_ENCODED: Final = re.compile(r"\*\s*=(?!\s*utf-8')", re.IGNORECASE)
_SECONDS: Final = re.compile(r"[1-9][0-9]{0,8}")
_HEADERS: Final = [
    OpenApiParameter(
        name=NAMED,
        type=str,
        location=OpenApiParameter.HEADER,
        description="`attachment; filename*=UTF-8''invoice.pdf`: its name, if it has one.",
    ),
    OpenApiParameter(
        name=EXPIRES_IN,
        type=int,
        location=OpenApiParameter.HEADER,
        description="For how many seconds it is kept; by default 30 days.",
    ),
]


class ArtifactDocument(serializers.Serializer[Any]):
    sha256 = serializers.CharField(help_text="Of its content; its name in addresses.")
    name = serializers.CharField()
    type = serializers.ChoiceField(sorted(TYPES))
    size = serializers.IntegerField(help_text="In bytes.")
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()


class ArtifactPage(serializers.Serializer[Any]):
    items = ArtifactDocument(many=True)
    next = serializers.CharField(allow_null=True, help_text="The next `cursor`.")


class FileParser(BaseParser):
    """Any type that an artifact may be; the body as it came."""

    media_type = "application/octet-stream"

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        limit = settings.ARTIFACT_LIMIT
        body = bytes(stream.read(limit + 1))
        if len(body) > limit:
            raise TOO_LARGE(f"An artifact has at most {limit} bytes.")
        (parser_context or {})["request"].raw_body = body
        return body


class FileNegotiation(JSONNegotiation):
    """A body is a file when it says of which type of the list it is."""

    def select_parser(
        self, request: Request, parsers: Iterable[BaseParser]
    ) -> BaseParser | None:
        return FileParser() if _media_type(request) in TYPES else None


class AnythingNegotiation(JSONNegotiation):
    """Whatever is accepted: the file has its own type, and nobody shows it."""

    def select_renderer(
        self,
        request: Request,
        renderers: Iterable[BaseRenderer],
        format_suffix: str | None = None,
    ) -> tuple[BaseRenderer, str]:
        first = next(iter(renderers))
        return first, str(first.media_type)


class ArtifactsView(AgentView):
    """The files of a session."""

    scope = SESSIONS
    parser_classes = [FileParser]
    content_negotiation_class = FileNegotiation
    query_class = PageQuery

    @extend_schema(
        operation_id="list_artifacts",
        parameters=[PageQuery],
        responses=ArtifactPage,
        extensions=refuses(DATA_ERASED),
    )
    def get(self, request: Request, id: UUID) -> Response:
        """List the artifacts that have not expired, newest first."""
        with tenant_transaction(self.principal.tenant_id):
            rows = artifacts_of(own_session(self.principal, id))
            return Response(page(rows, request, artifact_document))

    @extend_schema(
        operation_id="put_artifact",
        request=dict.fromkeys(sorted(TYPES), OpenApiTypes.BINARY),
        parameters=_HEADERS,
        responses={200: ArtifactDocument, 201: ArtifactDocument},
        extensions=refuses(
            HEADER_MALFORMED, TYPE_MISMATCH, TOO_MANY_ARTIFACTS, DATA_ERASED
        ),
    )
    def post(self, request: Request, id: UUID) -> HttpResponse:
        """Keep a file as it is; 200 where the session has that content already.

        Its type is looked at, whatever `Content-Type` says. Put again, it is kept until
        the later of both ends, under its first name.
        """
        upload = _upload(request)
        once = once_from(request, _put_answer)
        put_artifact(who=self.principal, session_id=id, upload=upload, once=once)
        return answered(once)


class ArtifactView(AgentView):
    """One file."""

    scope = SESSIONS

    @extend_schema(
        operation_id="get_artifact",
        responses=ArtifactDocument,
        extensions=refuses(DATA_ERASED),
    )
    def get(self, request: Request, id: UUID, digest: str) -> Response:
        """Read what an artifact is."""
        with tenant_transaction(self.principal.tenant_id):
            session = own_session(self.principal, id)
            return Response(artifact_document(artifact_with(session, digest)))


class ContentView(AgentView):
    """What is in one file."""

    scope = SESSIONS
    content_negotiation_class = AnythingNegotiation

    @extend_schema(
        operation_id="get_artifact_content",
        responses={(200, kind): OpenApiTypes.BINARY for kind in sorted(TYPES)},
        extensions=refuses(ARTIFACT_UNREADABLE, DATA_ERASED),
    )
    def get(self, request: Request, id: UUID, digest: str) -> HttpResponse:
        """Fetch the bytes as they were put, their digest checked."""
        with tenant_transaction(self.principal.tenant_id):
            artifact = artifact_with(own_session(self.principal, id), digest)
            return download(artifact, content_of(artifact))


class RemoveView(AgentView):
    """One file, taken away."""

    scope = SESSIONS
    parser_classes = [StrictJSONParser]

    @extend_schema(
        operation_id="remove_artifact",
        request=NothingSerializer,
        responses=ArtifactDocument,
        extensions=refuses(LEGAL_HOLD, DATA_ERASED),
    )
    def post(self, request: Request, id: UUID, digest: str) -> HttpResponse:
        """Take an artifact away for good; that it happened stays on record."""
        NothingSerializer.read(request)
        once = once_from(request, rendered(artifact_document))
        remove_artifact(who=self.principal, session_id=id, digest=digest, once=once)
        return answered(once)


def artifact_document(artifact: Artifact) -> dict[str, Any]:
    """What an artifact is, without its content."""
    return {
        "sha256": artifact.digest,
        "name": artifact.name,
        "type": artifact.media_type,
        "size": artifact.size,
        "created_at": artifact.created_at,
        "expires_at": artifact.expires_at,
    }


def _put_answer(put: Put) -> Rendered:
    status = 201 if put.fresh else 200
    return status, json_text(artifact_document(put.artifact))


def _upload(request: Request) -> Upload:
    content, media_type = body_of(request), _media_type(request)
    if media_type not in TYPES:  # of an empty body nobody asked
        raise MEDIA_TYPE(f"An artifact is one of {', '.join(sorted(TYPES))}.")
    return Upload(
        content=content,
        media_type=media_type,
        name=_name(request),
        expires_in=_expires_in(request),
    )


def _media_type(request: Request) -> str:
    return (request.content_type or "").partition(";")[0].strip().lower()


def _name(request: Request) -> str:
    """Decoded from UTF-8 alone: Python knows codecs that make no text at all."""
    header = request.headers.get(NAMED, "")
    if _OTHERWISE_ENCODED.search(header):
        raise HEADER_MALFORMED("A name is encoded in UTF-8.")
    try:
        _, said = parse_header_parameters(header)
    except ValueError as error:
        raise HEADER_MALFORMED(f"{NAMED} cannot be read.") from error
    name = said.get("filename", "")
    if len(name) > MOST_NAME or "\0" in name:
        raise HEADER_MALFORMED(f"A name has at most {MOST_NAME} characters.")
    return name


def _expires_in(request: Request) -> int | None:
    text = request.headers.get(EXPIRES_IN)
    if text is None:
        return None
    if not _SECONDS.fullmatch(text) or int(text) > MOST_SECONDS:
        raise HEADER_MALFORMED(f"{EXPIRES_IN} is 1 to {MOST_SECONDS:,} seconds.")
    return int(text)
