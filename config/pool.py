"""The pool of database connections, and how it notices that some of them have ended."""

import select
from typing import Any, Final

from django.db import connections
from psycopg import Connection

from config import env

PATIENCE: Final = 5  # seconds: to wait for a connection, and to try for a new one


def pool_options() -> dict[str, Any]:
    """Return what Django hands to psycopg's pool; empty for no pool at all.

    There is one, since a connection kept per thread leaks under ASGI.
    """
    if not (size := env.number("KEYTURN_POOL_SIZE", 8)):
        return {}
    return {
        "min_size": 1,
        "max_size": size,
        "timeout": PATIENCE,
        # The pause between two tries doubles; beyond this a database that is back
        # would be tried again only after as long as it was away.
        "reconnect_timeout": PATIENCE,
        "check": refuse_ended,
    }


def refuse_ended(connection: Connection[Any]) -> None:
    """Refuse a connection that the server has ended; costs no round trip.

    A server says nothing to whoever is idle, so a socket with something to read means
    that it has closed, or that it is to be asked. One that ended is rarely alone, and
    the pool waits longer after each further one: so all of its idle ones are checked.

    Raises:
        psycopg.OperationalError: it has ended; the pool takes another one.
    """
    if not _has_something_to_read(connection):
        return
    pool = connections["default"].pool  # type: ignore[attr-defined]
    try:
        pool.check_connection(connection)
    except Exception:
        pool.check()
        raise


def _has_something_to_read(connection: Connection[Any]) -> bool:
    looked = select.poll()  # unlike select(), it takes any file descriptor
    looked.register(connection.fileno(), select.POLLIN)
    return bool(looked.poll(0))
