"""Finding a request by exactly what people paste: an id, a short name, an external id."""

import re
from typing import Any, Final
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet, TextField, Value
from django.db.models.functions import Cast, Right, Upper

from approvals.models import Request
from approvals.pages.viewer import Viewer
from approvals.problems import NOT_FOUND
from checkpoints.models import Effect

SHORT_NAME: Final = re.compile(r"(?:REQ|RUN)-([0-9A-F]{8})", re.IGNORECASE)


def find_exactly(viewer: Viewer, text: str) -> UUID | None:
    """The newest visible request that goes by this name, or none. Letter by letter comes
    before what differs in capitals."""
    named = _by_id(text) or _by_short_name(text) or _by_external_id(text)
    rows = Request.objects.filter(queue_id__in=viewer.sees)
    rows = rows.annotate(tail=_tail("id"), run_tail=_tail("run_id")).filter(named)
    return _exact_first(rows, text).values_list("id", flat=True).first()


def made_outside(viewer: Viewer, text: str) -> tuple[UUID, UUID] | None:
    """The run and the request of the newest visible effect that is known by this id."""
    rows = Request.objects.filter(_by_external_id(text), queue_id__in=viewer.sees)
    return _exact_first(rows, text).values_list("run_id", "id").first()


def response_schema(viewer: Viewer, request_id: UUID) -> dict[str, Any] | None:
    """How the request's answers must look. Raises `not_found` for what is not seen."""
    rows = Request.objects.filter(id=request_id, queue_id__in=viewer.sees)
    found = rows.values("response_schema").first()
    if found is None:
        raise NOT_FOUND("No such request.")
    schema: dict[str, Any] | None = found["response_schema"]
    return schema


def newest_effect(viewer: Viewer, request_id: UUID) -> UUID:
    """The effect of a request that is seen. Raises `not_found`."""
    seen = Request.objects.filter(id=request_id, queue_id__in=viewer.sees)
    rows = Effect.objects.filter(request__in=seen.values("id")).order_by("-id")
    found = rows.values_list("id", flat=True).first()
    if found is None:
        raise NOT_FOUND("No such effect.")
    return found


def _exact_first(rows: QuerySet[Request], text: str) -> QuerySet[Request]:
    """Other systems tell capitals apart, and agents choose their own ids."""
    exact = Effect.objects.filter(request=OuterRef("id"), external_id=text)
    return rows.order_by(Exists(exact).desc(), "-created_at")


def _tail(field: str) -> Right:
    return Right(Cast(field, TextField()), 8)


def _by_id(text: str) -> Q | None:
    try:
        id = UUID(text)
    except ValueError:
        return None
    return Q(id=id) | Q(run_id=id) | Q(session_id=id)


def _by_short_name(text: str) -> Q | None:
    found = SHORT_NAME.fullmatch(text)
    if found is None:
        return None
    tail = found[1].lower()
    return Q(run_tail=tail) if text[:3].upper() == "RUN" else Q(tail=tail)


def _by_external_id(text: str) -> Q:
    """As people type it: capitals do not matter."""
    effects = Effect.objects.filter(known_as=Upper(Value(text))).values("request")
    return Q(id__in=effects)
