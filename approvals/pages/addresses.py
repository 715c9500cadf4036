"""Addresses of the pages, as ready strings, with the selection of the list kept."""

from collections.abc import Mapping
from urllib.parse import urlencode
from uuid import UUID

from django.urls import reverse


def address(
    name: str,
    slug: str,
    id: UUID | None = None,
    *,
    query: Mapping[str, str] | None = None,
) -> str:
    """The address of a tenant's page; empty parameters are left out."""
    kwargs: dict[str, object] = {"slug": slug}
    if id is not None:
        kwargs["id"] = id
    return reverse(name, kwargs=kwargs) + query_text(query or {})


def query_text(query: Mapping[str, str]) -> str:
    """'?view=mine', or nothing."""
    given = {name: value for name, value in query.items() if value}
    return f"?{urlencode(given)}" if given else ""


def short_name(kind: str, id: UUID) -> str:
    """What people call a row: 'REQ-5F2A91C3'. It finds nothing and proves nothing."""
    return f"{kind}-{id.hex[-8:].upper()}"
