"""Somebody at the database who may do everything, row security or not."""

from uuid import UUID

import psycopg
from django.conf import settings

from config.embedded import postgres


def tamper(table: str, change: str, row_id: UUID) -> None:
    """Change one row as a superuser would."""
    url = postgres.url(settings.DATA_DIR, "postgres", "keyturn")
    with psycopg.connect(url) as superuser:
        statement = f"update {table} set {change} where id = '{row_id}'"
        assert superuser.execute(statement.encode()).rowcount == 1
