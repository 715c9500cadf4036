"""Settings from the environment, one typed reader for each shape."""

import json
import os
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

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


def storage(name: str, folder: Path) -> dict[str, Any]:
    """Return Django's settings for a storage, given as JSON; or a private folder.

    Raises:
        ImproperlyConfigured: it is no JSON object that names a BACKEND.
    """
    value = text(name)
    if not value:
        private = {"file_permissions_mode": 0o600, "directory_permissions_mode": 0o700}
        return {
            "BACKEND": "django.core.files.storage.FileSystemStorage",
            "OPTIONS": {"location": str(folder), "base_url": None, **private},
        }
    try:
        given = json.loads(value)
    except ValueError:
        given = None
    if not isinstance(given, dict) or not isinstance(given.get("BACKEND"), str):
        raise ImproperlyConfigured(f"{name} must be JSON with a BACKEND, as STORAGES")
    return given


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


def mailer(url: str) -> dict[str, Any]:
    """Return Django's settings for an ``smtp://`` (STARTTLS) or ``smtps://`` URL.

    Raises:
        ImproperlyConfigured: it is no such URL.
    """
    parts = urlsplit(url)
    if parts.scheme not in {"smtp", "smtps"} or not parts.hostname:
        raise ImproperlyConfigured("a mail URL begins with smtp:// or smtps://")
    return {
        "BACKEND": "django.core.mail.backends.smtp.EmailBackend",
        "OPTIONS": {
            "host": parts.hostname,
            "port": parts.port or (465 if parts.scheme == "smtps" else 587),
            "username": unquote(parts.username or ""),
            "password": unquote(parts.password or ""),
            "use_ssl": parts.scheme == "smtps",
            "use_tls": parts.scheme == "smtp",
            "timeout": 10,
        },
    }


_PLACES = {
    "NAME": "dbname",
    "USER": "user",
    "PASSWORD": "password",
    "HOST": "host",
    "PORT": "port",
}
