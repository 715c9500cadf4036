"""The database's superuser: what an attacker with the whole server would hold."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from django.conf import settings

from config.embedded import postgres


@contextmanager
def superuser() -> Iterator[psycopg.Connection]:
    """An autocommitting connection past every role and policy."""
    url = postgres.url(settings.DATA_DIR, "postgres")
    with psycopg.connect(url, autocommit=True) as connection:
        yield connection
