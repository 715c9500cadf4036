"""Finding a request by exactly what people paste: an id, a short name, an external id."""

import re
from typing import Any, Final
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, TextField, Value
from django.db.models.functions import Cast, Right, Upper

from approvals.models import Request
from approvals.pages.viewer import Viewer
from approvals.problems import NOT_FOUND
from checkpoints.models import Effect

SHORT_NAME: Final = re.compile(r"(?:REQ|RUN)-([0-9A-F]{8})", re.IGNORECASE)


def find_exactly(viewer: Viewer, text: str) -> UUID | None:
    """The newest visible request that goes by this name of ours, or none."""
    named = _by_id(text) or _by_short_name(text)
    if named is None:
        return None
    rows = Request.objects.filter(queue_id__in=viewer.sees)
    rows = rows.annotate(tail=_tail("id"), run_tail=_tail("run_id")).filter(named)
    return rows.order_by("-created_at").values_list("id", flat=True).first()


def made_outside(viewer: Viewer, text: str) -> list[tuple[UUID, UUID]]:
    """The run and the request of what is known by this id and visible; two of several.

    Letter by letter comes before what differs in capitals: other systems tell capitals
    apart, and agents choose their own ids.
    """
    exact = Effect.objects.filter(request=OuterRef("id"), external_id=text)
    rows = Request.objects.filter(by_external_id(text), queue_id__in=viewer.sees)
    rows = rows.annotate(exact=Exists(exact)).order_by("-exact", "-created_at")
    found = list(rows.values_list("run_id", "id", "exact")[:2])
    return [(run, id) for run, id, same in found if same == found[0][2]]


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


def by_external_id(text: str) -> Q:
    """As people type it: capitals do not matter."""
    effects = Effect.objects.filter(known_as=Upper(Value(text))).values("request")
    return Q(id__in=effects)
