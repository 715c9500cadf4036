"""Django's cache, in the database: what one process counts, all of them know.

It carries the limits on guesses. Django's own cache in a database keeps pickles, and
reading one runs what is in it: whoever writes to the database would become the service.
This one keeps JSON.
"""

import json
from typing import Any, Final

from django.core.cache.backends.base import DEFAULT_TIMEOUT, BaseCache
from django.db import connection

TIDIED: Final = 20  # rows that are over and go with each that is written

_ADD: Final = """
INSERT INTO tenants_cache AS c (key, value, expires_at)
VALUES (%(key)s, %(value)s, clock_timestamp() + %(seconds)s * interval '1 second')
ON CONFLICT (key) DO UPDATE
  SET value = excluded.value, expires_at = excluded.expires_at
  WHERE %(always)s OR c.expires_at <= clock_timestamp()
"""
_GET: Final = """
SELECT value FROM tenants_cache
WHERE key = %(key)s AND (expires_at IS NULL OR expires_at > clock_timestamp())
"""
_TOUCH: Final = """
UPDATE tenants_cache
SET expires_at = clock_timestamp() + %(seconds)s * interval '1 second'
WHERE key = %(key)s AND expires_at > clock_timestamp()
"""
_TIDY: Final = """
DELETE FROM tenants_cache WHERE key IN (
  SELECT key FROM tenants_cache WHERE expires_at <= clock_timestamp()
  LIMIT %(most)s FOR UPDATE SKIP LOCKED)
"""


class SharedCache(BaseCache):
    """Named by the setting CACHES. Values are JSON; times are the database's."""

    def __init__(self, _location: str, params: dict[str, Any]) -> None:
        super().__init__(params)

    def add(
        self,
        key: Any,
        value: Any,
        timeout: float | None = DEFAULT_TIMEOUT,
        version: int | None = None,
    ) -> bool:
        return self._write(key, value, timeout, version, always=False)

    def set(
        self,
        key: Any,
        value: Any,
        timeout: float | None = DEFAULT_TIMEOUT,
        version: int | None = None,
    ) -> None:
        self._write(key, value, timeout, version, always=True)
        _execute(_TIDY, most=TIDIED)

    def get(self, key: Any, default: Any = None, version: int | None = None) -> Any:
        with connection.cursor() as cursor:
            cursor.execute(_GET, {"key": self._key(key, version)})
            found = cursor.fetchone()
        return default if found is None else json.loads(found[0])

    def touch(
        self,
        key: Any,
        timeout: float | None = DEFAULT_TIMEOUT,
        version: int | None = None,
    ) -> bool:
        seconds = self._seconds(timeout)
        return _execute(_TOUCH, key=self._key(key, version), seconds=seconds) == 1

    def delete(self, key: Any, version: int | None = None) -> bool:
        statement = "DELETE FROM tenants_cache WHERE key = %(key)s"
        return _execute(statement, key=self._key(key, version)) == 1

    def clear(self) -> None:
        _execute("DELETE FROM tenants_cache")

    def _write(
        self,
        key: Any,
        value: Any,
        timeout: float | None,
        version: int | None,
        *,
        always: bool,
    ) -> bool:
        written = _execute(
            _ADD,
            key=self._key(key, version),
            value=json.dumps(value, allow_nan=False),
            seconds=self._seconds(timeout),
            always=always,
        )
        return written == 1

    def _key(self, key: Any, version: int | None) -> str:
        return str(self.make_and_validate_key(key, version=version))

    def _seconds(self, timeout: float | None) -> float | None:
        """None: for ever."""
        given = self.default_timeout if timeout is DEFAULT_TIMEOUT else timeout
        return None if given is None else float(given)


def _execute(statement: str, **values: Any) -> int:
    """How many rows it changed."""
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return int(cursor.rowcount)
