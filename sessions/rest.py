"""What every view of a run reads from its request's headers."""

import re
from typing import Final

from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from kernel.problems import declare
from sessions.runs import FENCE, FENCE_REQUIRED, STALE_WRITER

HEADER_MALFORMED: Final = declare(
    "header_malformed", status=400, title="A header has another form"
)

FENCED = OpenApiParameter(
    name=FENCE,
    type=int,
    location=OpenApiParameter.HEADER,
    required=True,
    description="The `fence` of the caller's own claim; 409 `stale_writer` for others.",
)
NOT_FENCED: Final = (FENCE_REQUIRED, HEADER_MALFORMED, STALE_WRITER)
"""What a door refuses with that wants a fence."""

_NUMBER: Final = re.compile(r"[0-9]{1,18}")
_ENTITY_TAG: Final = re.compile(r'(?:W/)?"([0-9]{1,18})"')


def fence_of(request: Request) -> int:
    """The fencing token that the caller shows. Raises `fence_required` (428)."""
    fence = fence_if_any(request)
    if fence is None:
        raise FENCE_REQUIRED("It is in every answer to a claim, as `fence`.")
    return fence


def fence_if_any(request: Request) -> int | None:
    """The fencing token, where showing one is the caller's choice."""
    text = request.headers.get(FENCE)
    if text is None:
        return None
    if not _NUMBER.fullmatch(text):
        raise HEADER_MALFORMED(f"{FENCE} is a whole number.")
    return int(text)


def version_expected(request: Request) -> int | None:
    """The version of facts that `If-Match` names, if it is there."""
    text = request.headers.get("If-Match")
    if text is None:
        return None
    match = _ENTITY_TAG.fullmatch(text.strip())
    if match is None:
        raise HEADER_MALFORMED("If-Match names one version of the facts.")
    return int(match[1])


def entity_tag(version: int) -> str:
    """The `ETag` of a run whose facts are at that version."""
    return f'"{version}"'
