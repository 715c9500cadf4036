"""Lists that grow, in the order of a name: each page begins after the last one's end."""

from typing import Final

from django.db.models import Model, QuerySet

from approvals.pages.addresses import address
from approvals.presentation.shell import Pages

PAGE: Final = 50


def from_after[M: Model](rows: QuerySet[M], by: str, after: str) -> list[M]:
    """A page of `rows` and one row more if there is another. `by` is a unique column."""
    if after:
        rows = rows.filter(**{f"{by}__gt": after.replace("\0", "")})
    return list(rows.order_by(by)[: PAGE + 1])


def pages_after(name: str, slug: str, after: str, found: list[str]) -> Pages:
    """`found` has the names of `from_after`, in its order."""
    more = {"after": found[PAGE - 1]} if len(found) > PAGE else {}
    return Pages(
        shown=min(len(found), PAGE),
        previous_href=address(name, slug) if after else "",
        next_href=address(name, slug, query=more) if more else "",
    )
