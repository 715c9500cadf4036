"""Reading a body: bounded, strict, and kept as it came for the idempotency hash."""

from collections.abc import Iterable, Mapping
from typing import IO, Any, Final

from django.conf import settings
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.request import Request

from kernel.problems import declare
from kernel.strict_json import TOO_LARGE, parse

MEBIBYTE: Final = 1024 * 1024
CHECKPOINT_LIMIT: Final = 12 * MEBIBYTE
"""The `body_limit` of views that take a checkpoint's payload."""

LENGTH_REQUIRED: Final = declare(
    "length_required", status=411, title="The header Content-Length is missing"
)


class StrictJSONParser(BaseParser):
    """`application/json` that means one thing only, up to the view's `body_limit`.

    The limit is the setting BODY_LIMIT (bytes, default 1 MiB) where the view
    does not say. Raises `Problem` 413 `body_too_large`, 400 `json.…`.
    """

    media_type = "application/json"

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:  # what `parse` gives back; the base class knows objects alone
        context = parser_context or {}
        limit = body_limit(context.get("view"))
        body = bytes(stream.read(limit + 1))
        if len(body) > limit:
            raise TOO_LARGE(f"At most {limit} bytes are read here.")
        context["request"].raw_body = body
        return parse(body, limit=limit)


class JSONNegotiation(DefaultContentNegotiation):
    """A body is JSON when it says so: a pattern such as `*/*` says nothing."""

    def select_parser(
        self, request: Request, parsers: Iterable[BaseParser]
    ) -> BaseParser | None:
        kind = (request.content_type or "").partition(";")[0].strip().lower()
        return next((one for one in parsers if one.media_type == kind), None)


def body_limit(view: Any) -> int:
    """How many bytes of a body the view takes."""
    own: int | None = getattr(view, "body_limit", None)
    default: int = settings.BODY_LIMIT
    return own or default


def body_of(request: Request) -> bytes:
    """The body exactly as it came, once it has passed the parser."""
    _ = request.data
    return getattr(request, "raw_body", b"")


def require_length(request: Request) -> None:
    """Refuse a body of unannounced length: the parser would take it for an empty one.

    Raises `Problem` `length_required` (411).
    """
    headers = request.headers
    if "Transfer-Encoding" in headers and not headers.get("Content-Length"):
        raise LENGTH_REQUIRED()
