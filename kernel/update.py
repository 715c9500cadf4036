"""The conditional update: how a status changes.

The queryset says what must still be true; the database changes the row only if it is.
Take the row's lock first wherever an expiry is tested: a predicate is not evaluated
again on a row that was merely locked by someone else.
"""

from typing import Any

from django.db.models import Model, QuerySet

from kernel.problems import LOST_RACE, Problem


class LostRace(Problem):
    """Somebody else changed the row first, so the condition no longer held."""

    def __init__(self, detail: str) -> None:
        super().__init__(LOST_RACE.code, detail=detail)


class TooManyRows(RuntimeError):
    """A condition meant for one row matched several: the code is wrong."""


def update_exactly_one[M: Model](queryset: QuerySet[M], **values: Any) -> None:
    """Set `values` on the one row of `queryset`, in one statement.

    Raises `LostRace` if no row matched and `TooManyRows` if more than one did. Either
    must end the transaction: let it out of the atomic block.
    """
    count = queryset.update(**values)
    if count == 1:
        return
    name = queryset.model._meta.verbose_name
    if count == 0:
        raise LostRace(f"The {name} is no longer in the state that this needs.")
    raise TooManyRows(f"{count} rows of {name} matched a condition meant for one.")
