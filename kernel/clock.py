"""Time comes from the database alone; a process's own clock decides nothing."""

from datetime import datetime

from django.db import connection
from django.db.models import DateTimeField, Func


class ClockTimestamp(Func):
    """`clock_timestamp()`: the time now, not at the transaction's start."""

    function = "CLOCK_TIMESTAMP"
    arity = 0
    output_field = DateTimeField()


def database_now() -> datetime:
    """The database's time now, aware, in UTC."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        return cursor.fetchone()[0]  # type: ignore[no-any-return]
