"""Settings from the environment, one typed reader for each shape."""

import os
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict


def text(name: str, default: str = "") -> str:
    """Return the variable; an empty one counts as not set."""
    return os.environ.get(name, "").strip() or default


def flag(name: str, *, default: bool = False) -> bool:
    """Return a yes or no.

    Raises:
        ImproperlyConfigured: it is neither; a typing slip must not turn anything on.
    """
    value = text(name).lower()
    if value in {"1", "true", "yes", "on"}:
        return True
    if value in {"0", "false", "no", "off"}:
        return False
    if value:
        raise ImproperlyConfigured(f"{name} must be yes or no, not {value!r}")
    return default


def number(name: str, default: int) -> int:
    """Return a whole number.

    Raises:
        ImproperlyConfigured: it is not one.
    """
    value = text(name)
    try:
        return int(value) if value else default
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} must be a number, not {value!r}") from error


def items(name: str, default: str = "") -> list[str]:
    """Return the parts of a comma-separated list."""
    return [part for item in text(name, default).split(",") if (part := item.strip())]


def path(name: str, default: Path) -> Path:
    """Return an absolute path."""
    return Path(text(name) or default).expanduser().absolute()


def data_dir() -> Path:
    """Return where keys, embedded services and logs are kept."""
    return path("KEYTURN_DATA_DIR", Path(__file__).parent.parent / "var")


def database(url: str, **options: Any) -> dict[str, Any]:
    """Return Django's settings for a ``postgresql://`` URL.

    Raises:
        ImproperlyConfigured: it is no such URL. The message does not repeat it, since
            it holds a password.
    """
    if not url.startswith(("postgresql://", "postgres://")):
        raise ImproperlyConfigured("a database URL begins with postgresql://")
    try:
        parts = conninfo_to_dict(url)
    except ProgrammingError as error:
        raise ImproperlyConfigured("a database URL could not be read") from error
    named = {key: str(parts.pop(key, "")) for key in _PLACES.values()}
    return {
        "ENGINE": "django.db.backends.postgresql",
        **{django: named[libpq] for django, libpq in _PLACES.items()},
        "OPTIONS": {**parts, **options},
    }


_PLACES = {
    "NAME": "dbname",
    "USER": "user",
    "PASSWORD": "password",
    "HOST": "host",
    "PORT": "port",
}
