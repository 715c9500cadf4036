"""Which kinds of rows a request has, told along with it: most requests have few of them,
and what it has none of is not asked for."""

from typing import Final

from django.db.models import Field, Model, QuerySet
from django.db.models.expressions import RawSQL

from approvals.models import (
    Comment,
    Decision,
    Grant,
    Nudge,
    Request,
    ResumeJob,
    Sight,
    Snooze,
    VerificationReport,
)
from checkpoints.models import Effect

KINDS: Final[tuple[type[Model], ...]] = (
    *(Comment, Decision, Effect, Grant, Nudge),
    *(ResumeJob, Sight, Snooze, VerificationReport),
)


def kinds_kept() -> RawSQL:
    """The tables of `KINDS` in which a request has a row."""
    looks = ", ".join(map(_look, KINDS))
    # Our own names alone.
    return RawSQL(f"array_remove(ARRAY[{looks}], NULL)", ())  # noqa: S611


def _look(kind: type[Model]) -> str:
    table, field = kind._meta.db_table, kind._meta.get_field("request")
    assert isinstance(field, Field)
    return (
        f"""CASE WHEN EXISTS (SELECT FROM {table} k"""
        f""" WHERE k."{field.column}" = approvals_request.id) THEN '{table}' END"""
    )


def rows_of[Kind: Model](request: Request, kind: type[Kind]) -> QuerySet[Kind]:
    """The request's, which must have been read with `kinds` = `kinds_kept()`."""
    rows = kind._default_manager.filter(request=request.id)
    has = kind._meta.db_table in request.kinds  # type: ignore[attr-defined]
    return rows if has else rows.none()
