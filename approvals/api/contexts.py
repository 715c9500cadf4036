"""What a model should see, over HTTP: built, recorded, and summarised for."""

import json
from typing import Any, Final
from uuid import UUID

from django.http import HttpResponse
from django.http.response import HttpResponseNotModified
from django.utils.http import parse_etags
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request

from approvals.api.described import KNOWN
from approvals.context import Assembled, Wanted
from approvals.context.build import (
    CONTEXT_TOO_SMALL,
    LEAST_TOKENS,
    MOST_TOKENS,
    USUAL_TOKENS,
)
from approvals.context.pieces import Trust
from approvals.context.shapes import SHAPES
from approvals.models import Summary
from approvals.services.contexts import (
    LONGEST_SUMMARY,
    SUMMARY_FAILED,
    SUMMARY_OVERTAKEN,
    keep_summary,
    read_context,
    read_summary,
    record_context,
)
from sessions.serializers import Text
from sessions.vault import ITEM_UNREADABLE
from tenants.idempotency import Replayed
from tenants.rest.answers import Rendered, json_response, json_text, rendered
from tenants.rest.exceptions import REPLAY
from tenants.rest.once import answered, once_from
from tenants.rest.refusals import refuses
from tenants.rest.strict import QuerySerializer, StrictSerializer
from tenants.rest.views import AgentView
from tenants.scopes import SESSIONS
from tenants.vault import DATA_ERASED

LARGEST: Final = 2**63 - 1


class ContextQuery(QuerySerializer):
    """How large a context may be, and in which shape."""

    max_tokens = serializers.IntegerField(
        default=USUAL_TOKENS, min_value=LEAST_TOKENS, max_value=MOST_TOKENS
    )
    shape = serializers.ChoiceField(list(SHAPES), default="pieces")


class ContextSerializer(StrictSerializer):
    """A context to build and record."""

    max_tokens = serializers.IntegerField(
        default=USUAL_TOKENS, min_value=LEAST_TOKENS, max_value=MOST_TOKENS
    )
    shape = serializers.ChoiceField(list(SHAPES), default="pieces")


class SummarySerializer(StrictSerializer):
    """A summary of the items from `first` to `last`; without `text` it is made here."""

    first = serializers.IntegerField(min_value=1, max_value=LARGEST)
    last = serializers.IntegerField(min_value=1, max_value=LARGEST)
    branch = serializers.IntegerField(required=False, min_value=0, max_value=2**31 - 1)
    text = Text(required=False, max_length=LONGEST_SUMMARY)


class PieceDocument(serializers.Serializer[Any]):
    key = serializers.CharField()
    kind = serializers.CharField()
    provenance = serializers.CharField()
    trust = serializers.ChoiceField([one.value for one in Trust])
    flags = serializers.ListField(child=serializers.CharField())
    tokens = serializers.IntegerField(help_text="An estimate, rather too high.")
    why = serializers.CharField()
    text = serializers.CharField(required=False, help_text="In the shape `pieces`.")


class DroppedDocument(serializers.Serializer[Any]):
    key = serializers.CharField()
    last = serializers.CharField(allow_null=True, help_text="Of a range of items.")
    kind = serializers.CharField()
    why = serializers.CharField()
    tokens = serializers.IntegerField()


class ContextDocument(serializers.Serializer[Any]):
    """What the model should see: `input` goes to it, the rest says why it is so."""

    run = serializers.UUIDField()
    session = serializers.UUIDField()
    version = serializers.IntegerField(help_text="Of the facts.")
    shape = serializers.ChoiceField(list(SHAPES))
    max_tokens = serializers.IntegerField()
    tokens = serializers.IntegerField(help_text="Of `input`; never more than asked.")
    included = PieceDocument(many=True)
    dropped = DroppedDocument(many=True)
    input = serializers.JSONField()
    digest = serializers.CharField(help_text="Also the ETag. 64 hex digits.")


class SummaryDocument(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    session = serializers.UUIDField()
    branch = serializers.IntegerField()
    first = serializers.IntegerField()
    last = serializers.IntegerField()
    inputs = serializers.CharField(help_text="The digest of the items it stands for.")
    method = serializers.CharField()
    text = serializers.CharField()
    created_at = serializers.DateTimeField()


class ContextView(AgentView):
    """What the model should see of a run."""

    scope = SESSIONS
    query_class = ContextQuery

    @extend_schema(
        operation_id="get_context",
        parameters=[ContextQuery, KNOWN],
        responses={200: ContextDocument, 304: None},
        extensions=refuses(CONTEXT_TOO_SMALL, ITEM_UNREADABLE, DATA_ERASED),
    )
    def get(self, request: Request, id: UUID) -> HttpResponse:
        """Build what the model should see now, within a budget; nothing is kept."""
        found = read_context(self.principal, run_id=id, wanted=Wanted(**self.query))
        tag = f'"{found.digest.hex()}"'
        known = parse_etags(request.headers.get("If-None-Match", ""))
        if tag in known:
            return HttpResponseNotModified(headers={"ETag": tag})
        response = json_response(200, found.document)
        response["ETag"] = tag
        return response

    @extend_schema(
        operation_id="record_context",
        request=ContextSerializer,
        responses={201: ContextDocument},
        extensions=refuses(CONTEXT_TOO_SMALL, ITEM_UNREADABLE, DATA_ERASED),
    )
    def post(self, request: Request, id: UUID) -> HttpResponse:
        """Build it and keep its digest and manifest, so that a question can name it.

        Repeating it does no harm, so no answer is kept: it would hold sealed texts.
        """
        body = ContextSerializer.read(request)
        once = once_from(request, _recorded)
        once.key = None
        record_context(self.principal, run_id=id, wanted=Wanted(**body), once=once)
        return answered(once)


class SummariesView(AgentView):
    """Summaries of a session's items."""

    scope = SESSIONS

    @extend_schema(
        operation_id="keep_summary",
        request=SummarySerializer,
        responses={201: SummaryDocument},
        extensions=refuses(
            SUMMARY_FAILED, SUMMARY_OVERTAKEN, ITEM_UNREADABLE, DATA_ERASED
        ),
    )
    def post(self, request: Request, id: UUID) -> HttpResponse:
        """Keep a summary of items: a derived view that stands while they do."""
        body = SummarySerializer.read(request)
        once = once_from(request, rendered(_named, status=201))
        try:
            kept = keep_summary(self.principal, session_id=id, once=once, **body)
        except Replayed as replayed:
            response = json_response(201, self._text(id, _again(replayed)))
            response[REPLAY] = "true"
            return response
        return json_response(201, self._text(id, kept.id))

    def _text(self, session_id: UUID, id: UUID) -> str:
        found = read_summary(self.principal, session_id=session_id, summary_id=id)
        return json_text(_summary_document(*found))


def _again(replayed: Replayed) -> UUID:
    """Whatever was refused before is refused again."""
    if replayed.status != 201:
        raise replayed
    return UUID(json.loads(replayed.body)["id"])


def _recorded(found: Assembled) -> Rendered:
    return 201, found.document


def _named(summary: Summary) -> dict[str, Any]:
    """What is stored for a repetition: which summary, and not its text."""
    return {"id": summary.id}


def _summary_document(summary: Summary, text: str) -> dict[str, Any]:
    return {
        "id": summary.id,
        "session": summary.session_id,
        "branch": summary.branch,
        "first": summary.first,
        "last": summary.last,
        "inputs": bytes(summary.inputs).hex(),
        "method": summary.method,
        "text": text,
        "created_at": summary.created_at,
    }
