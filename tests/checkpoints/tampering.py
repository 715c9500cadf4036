"""Somebody at the database who may do everything, row security or not."""

from uuid import UUID

import psycopg
from django.conf import settings

from config.embedded import postgres


def tamper(table: str, change: str, row_id: UUID) -> None:
    """Change one row."""
    assert superuser_says(f"update {table} set {change} where id = '{row_id}'") == 1


def superuser_says(statement: str) -> int:
    """Carry out one statement; how many rows it changed."""
    url = postgres.url(settings.DATA_DIR, "postgres", "keyturn")
    with psycopg.connect(url) as superuser:
        return superuser.execute(statement.encode()).rowcount
