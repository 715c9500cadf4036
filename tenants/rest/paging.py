"""Lists in pages, by keyset: stable while rows are added, and never slower further on."""

import base64
import binascii
import json
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from django.core.exceptions import ValidationError
from django.db.models import FETCH_RAISE, Field, Model, Q, QuerySet
from rest_framework.request import Request

from kernel.problems import Problem, declare
from kernel.strict_json import parse

LIMIT: Final = 50
MOST: Final = 200
NEWEST_FIRST: Final = ("-created_at", "-id")

INVALID_CURSOR: Final = declare(
    "invalid_cursor", status=400, title="This cursor is none that was given out here"
)
INVALID_LIMIT: Final = declare(
    "invalid_limit", status=400, title=f"A limit is a number from 1 to {MOST}"
)


def page[M: Model](
    rows: QuerySet[M],
    request: Request,
    document: Callable[[M], dict[str, Any]],
    *,
    order: Sequence[str] = NEWEST_FIRST,
) -> dict[str, Any]:
    """One page: `{"items": […], "next": cursor or None}`, read from `?cursor=&limit=`.

    `order` names fields that together are unique and go one way, all with `-` or all
    without. Call it inside the tenant's scope; a document that would need one more
    query a row raises `FieldFetchBlocked`. Raises `Problem` 400 `invalid_cursor`,
    `invalid_limit`.
    """

    def documents(found: Sequence[M]) -> list[dict[str, Any]]:
        return [document(row) for row in found]

    return page_of_many(rows, request, documents, order=order)


def page_of_many[M: Model](
    rows: QuerySet[M],
    request: Request,
    documents: Callable[[Sequence[M]], list[dict[str, Any]]],
    *,
    order: Sequence[str] = NEWEST_FIRST,
) -> dict[str, Any]:
    """As `page`, for documents that are cheaper to make all at once."""
    limit = limit_of(request)
    cursor = request.query_params.get("cursor")
    selected = rows.order_by(*order).fetch_mode(FETCH_RAISE)
    if cursor:
        selected = selected.filter(_after(rows.model, order, cursor))
    found = list(selected[: limit + 1])
    more = len(found) > limit
    return {
        "items": documents(found[:limit]),
        "next": _cursor(found[limit - 1], order) if more else None,
    }


def limit_of(request: Request, *, default: int = LIMIT) -> int:
    """How many a caller wants, from `?limit=`. Raises `Problem` `invalid_limit`."""
    text = request.query_params.get("limit")
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= MOST):
        raise INVALID_LIMIT()
    return int(text)


def _after(model: type[Model], order: Sequence[str], cursor: str) -> Q:
    """Rows that come later than the cursor's: later in a field, equal in those before."""
    condition, equal = Q(), Q()
    for name, value in zip(_fields(order), _values(model, order, cursor), strict=True):
        way = "lt" if order[0].startswith("-") else "gt"
        condition |= equal & Q((f"{name}__{way}", value))
        equal &= Q((name, value))
    return condition


def _cursor(row: Model, order: Sequence[str]) -> str:
    values = [str(getattr(row, name)) for name in _fields(order)]
    return base64.urlsafe_b64encode(json.dumps(values).encode()).decode().rstrip("=")


def _values(model: type[Model], order: Sequence[str], cursor: str) -> list[Any]:
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        texts = parse(base64.b64decode(padded, altchars=b"-_", validate=True))
        return [
            _value(_field(model, name), text)
            for name, text in zip(_fields(order), _texts(texts), strict=True)
        ]
    except (ValueError, TypeError, ValidationError, binascii.Error, Problem):
        raise INVALID_CURSOR() from None


def _value(field: "Field[Any, Any]", text: str) -> Any:
    """What was written as this very text; time is always written in UTC."""
    value = field.to_python(text)
    elsewhere = isinstance(value, datetime) and value.utcoffset() != timedelta(0)
    if elsewhere or str(value) != text:
        raise ValueError("not as it is written here")
    return value


def _field(model: type[Model], name: str) -> "Field[Any, Any]":
    field = model._meta.get_field(name)
    assert isinstance(field, Field)
    return field


def _texts(values: Any) -> list[str]:
    if not isinstance(values, list) or not all(isinstance(v, str) for v in values):
        raise TypeError("a cursor is a list of texts")
    return values


def _fields(order: Sequence[str]) -> list[str]:
    return [name.removeprefix("-") for name in order]
