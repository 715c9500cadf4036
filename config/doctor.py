"""What `doctor` looks at: everything an installation needs, each in one row."""

import os
import platform
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final
from urllib.parse import urlsplit

import psycopg
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import connections
from django.db.migrations.executor import MigrationExecutor
from kombu.exceptions import OperationalError as BrokerError

from audit.keys import signing_key
from config import boot, env
from config.celery import HEARTBEAT_SECONDS, app
from sessions.artifacts import try_storage
from tenants.master_keys import master_keys

LEAST_FREE: Final = 1 << 30  # bytes
MOST_FILE: Final = 12 << 20  # bytes; `config.bodies` lets little more in
MOST_SKEW: Final = 5.0  # seconds; only the database's clock decides, but people compare


class State(StrEnum):
    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"


@dataclass(frozen=True)
class Finding:
    """One row: what was looked at, how it is, and what to do where it is not well."""

    name: str
    state: State
    detail: str


type _Answer = tuple[State, str]


def examine() -> Iterator[Finding]:
    """Look at one thing after the other; a look that fails is a finding too."""
    for name, look in _LOOKS.items():
        try:
            state, detail = look()
        except Exception as error:
            state, detail = State.FAILED, f"{type(error).__name__}: {error}".strip()
        yield Finding(name, state, detail)


def _python() -> _Answer:
    return State.OK, f"{platform.python_version()} ({sys.executable})"


def _database() -> _Answer:
    with _connect("default") as connection:
        version = connection.info.server_version // 10_000
        kind = "embedded" if settings.EMBEDDED else "by DATABASE_URL"
        state = State.OK if version >= 18 else State.FAILED
    return state, f"PostgreSQL {version}, {kind}" + (
        "" if version >= 18 else "; needs 18"
    )


def _clock() -> _Answer:
    with _connect("default") as connection:
        before = time.time()
        row = connection.execute("select extract(epoch from clock_timestamp())")
        (theirs,) = row.fetchone() or (0,)
        skew = float(theirs) - (before + time.time()) / 2
    state = State.OK if abs(skew) < MOST_SKEW else State.WARNING
    return state, f"{skew:+.3f} s from the database's, which decides"


def _roles() -> _Answer:
    with _connect("default") as connection:
        found = boot.unsafe_settings() + boot.unsafe_database(connection)
    for alias in ("owner", "relay"):
        if settings.DATABASES[alias]["ENGINE"].endswith("dummy"):
            continue
        with _connect(alias) as connection:
            role = connection.info.user
            if role != f"keyturn_{alias}":
                found.append(f"{alias} connects as {role}")
    return (State.FAILED, "; ".join(found)) if found else (State.OK, "safe")


def _migrations() -> _Answer:
    executor = MigrationExecutor(connections["default"])
    missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if missing:
        return State.FAILED, f"{len(missing)} not applied: manage.py migrate"
    return State.OK, "all applied"


def _broker() -> _Answer:
    with app.connection_for_write() as connection:
        try:
            connection.ensure_connection(max_retries=1, timeout=3)
        except (BrokerError, OSError) as error:
            return State.FAILED, f"does not answer ({error})"
        if not env.text("CELERY_BROKER_URL"):
            folder = connection.transport_options["data_folder_in"]
            return State.OK, f"embedded, {len(os.listdir(folder))} messages waiting"
        return State.OK, connection.as_uri()  # without its password


def _worker() -> _Answer:
    files = sorted((settings.DATA_DIR / "workers").glob("*"))
    alive = [
        file.name
        for file in files
        if time.time() - file.stat().st_mtime < 3 * HEARTBEAT_SECONDS
    ]
    if alive:
        return State.OK, ", ".join(alive)
    return State.WARNING, "none on this machine: approved actions wait for one"


def _audit_key() -> _Answer:
    if settings.EMBEDDED and not settings.AUDIT_KEY.exists():
        return State.OK, "made with the first entry"
    try:
        return State.OK, f"{signing_key().id} ({settings.AUDIT_KEY})"
    except ImproperlyConfigured as error:
        return State.FAILED, str(error)


def _data_keys() -> _Answer:
    if settings.EMBEDDED and not settings.DATA_KEYS.exists():
        return State.OK, "made with the first item"
    try:
        names = [name.hex() for name in master_keys()]
    except ImproperlyConfigured as error:
        return State.FAILED, str(error)
    if len(names) > 1:
        return State.WARNING, f"{len(names)} of them: manage.py rotate_data_keys"
    return State.OK, f"{names[0]} ({settings.DATA_KEYS})"


def _disk() -> _Answer:
    if not os.access(settings.DATA_DIR, os.W_OK):
        return State.FAILED, f"{settings.DATA_DIR} cannot be written to"
    free = shutil.disk_usage(settings.DATA_DIR).free
    state = State.OK if free >= LEAST_FREE else State.WARNING
    return state, f"{free / LEAST_FREE:.1f} GiB free in {settings.DATA_DIR}"


def _files() -> _Answer:
    backend = settings.STORAGES["artifacts"]
    place = backend.get("OPTIONS", {}).get("location", backend["BACKEND"])
    if not try_storage():
        return State.FAILED, f"what is written to {place} does not come back"
    if settings.ARTIFACT_LIMIT > MOST_FILE:
        return State.WARNING, "KEYTURN_ARTIFACT_LIMIT: more than 12 MiB never arrive"
    return State.OK, f"kept in {place}"


def _mail() -> _Answer:
    if url := env.text("KEYTURN_SMTP_URL"):
        return State.OK, str(urlsplit(url).hostname)
    return State.WARNING, "KEYTURN_SMTP_URL is not set: no mail is sent"


@contextmanager
def _connect(alias: str) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    with psycopg.connect(**boot.connection_parameters(alias)) as connection:
        yield connection


_LOOKS: Final[dict[str, Callable[[], _Answer]]] = {
    "python": _python,
    "database": _database,
    "clock": _clock,
    "roles": _roles,
    "migrations": _migrations,
    "broker": _broker,
    "worker": _worker,
    "audit key": _audit_key,
    "data keys": _data_keys,
    "disk": _disk,
    "files": _files,
    "mail": _mail,
}
