"""The services an installation runs by itself when none are named: PostgreSQL, broker.

``manage.py``, the tests and the demo call :func:`ensure` before Django is loaded;
settings only :func:`describe`, since importing them must start nothing.
"""

import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from config.embedded import broker, postgres
from config.embedded.passwords import ensure_passwords, write_private

__all__ = [
    *("Services", "describe", "ensure", "prepare", "secret_key", "setup_code"),
    *("status", "stop"),
]


@dataclass(frozen=True)
class Services:
    """Where the services are: what the variables of the same meaning would have said."""

    data_dir: Path
    app_url: str
    owner_url: str
    relay_url: str
    started: bool = False  # by this very call


def ensure(data_dir: Path, *, durable: bool = True) -> Services:
    """Start what does not run yet; return where everything is.

    Args:
        data_dir: the folder that everything is kept in; made when absent.
        durable: False trades surviving a power cut for speed (tests).

    Raises:
        RuntimeError: PostgreSQL cannot be created or started; the message says why.
    """
    data_dir = prepare(data_dir)
    with _locked(data_dir):
        started = postgres.start(data_dir, durable=durable)
    return replace(describe(data_dir), started=started)


def prepare(data_dir: Path) -> Path:
    """Make the folder and the secrets in it, so that settings can be loaded.

    The folder is ours alone, or, for root, one that PostgreSQL's account may pass.
    """
    data_dir = data_dir.absolute()
    data_dir.parent.mkdir(parents=True, exist_ok=True)
    if not data_dir.exists():
        data_dir.mkdir(mode=0o700, exist_ok=True)  # another process was quicker
        data_dir.chmod(0o711 if os.geteuid() == 0 else 0o700)
    with _locked(data_dir):
        ensure_passwords(data_dir)
        broker.ensure(data_dir)
        if not secret_key(data_dir):
            write_private(_key(data_dir, "secret_key"), secrets.token_urlsafe(48))
        if not setup_code(data_dir):
            write_private(_key(data_dir, "setup_code"), secrets.token_hex(8))
    return data_dir


def describe(data_dir: Path, database: str = "keyturn") -> Services:
    """Return where the services are or would be; it starts and writes nothing."""
    data_dir = data_dir.absolute()
    return Services(
        data_dir=data_dir,
        app_url=postgres.url(data_dir, "keyturn_app", database),
        owner_url=postgres.url(data_dir, "keyturn_owner", database),
        relay_url=postgres.url(data_dir, "keyturn_relay", database),
    )


def stop(data_dir: Path) -> bool:
    """Stop what runs. Return whether anything did."""
    if not data_dir.is_dir():
        return False
    with _locked(data_dir):
        return postgres.stop(data_dir.absolute())


def status(data_dir: Path) -> dict[str, str]:
    """Return one word for each service."""
    up = postgres.running(data_dir.absolute())
    return {"postgres": "running" if up else "stopped"}


def secret_key(data_dir: Path) -> str:
    """Return the key that signs cookies, the same for every process, or ``""``."""
    return _read(_key(data_dir, "secret_key"))


def setup_code(data_dir: Path) -> str:
    """Return what whoever makes the first tenant in the browser must know, or ``""``."""
    return _read(_key(data_dir, "setup_code"))


def _key(data_dir: Path, name: str) -> Path:
    return data_dir / "keys" / name


def _read(file: Path) -> str:
    return file.read_text() if file.exists() else ""


@contextmanager
def _locked(data_dir: Path) -> Iterator[None]:
    """Keep two processes from starting or stopping the same services at once."""
    with (data_dir / "services.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
