"""The database's superuser: what an attacker with the whole server would hold."""

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

import psycopg
from django.conf import settings

from config.embedded import postgres


@contextmanager
def superuser() -> Iterator[psycopg.Connection]:
    """An autocommitting connection past every role and policy."""
    url = postgres.url(settings.DATA_DIR, "postgres")
    with psycopg.connect(url, autocommit=True) as connection:
        yield connection


def overdue(request_id: UUID) -> None:
    """The request's time was over a second ago, and no sweep has looked at it."""
    with superuser() as connection:
        connection.execute(
            "UPDATE approvals_request SET due_at = now() - interval '1 s'"
            " WHERE id = %s",
            [request_id],
        )
