"""The embedded cluster's passwords: made once, kept in a file only we can read."""

import json
import os
import secrets
from pathlib import Path

ROLES = ("postgres", "keyturn_owner", "keyturn_app", "keyturn_relay")
"""``postgres`` is the bootstrap superuser; the others are in ``bootstrap.sql``."""


def read_passwords(data_dir: Path) -> dict[str, str]:
    """Return ``{role: password}``; empty when nothing was ever started here."""
    try:
        passwords: dict[str, str] = json.loads(_file(data_dir).read_text())
    except FileNotFoundError:
        return {}
    return passwords


def ensure_passwords(data_dir: Path) -> dict[str, str]:
    """Return ``{role: password}``, making the file (0600) when there is none."""
    if passwords := read_passwords(data_dir):
        return passwords
    passwords = {role: secrets.token_urlsafe(32) for role in ROLES}
    write_private(_file(data_dir), json.dumps(passwords, indent=2) + "\n")
    return passwords


def write_private(file: Path, text: str) -> None:
    """Write a 0600 file in a 0700 folder so that a crash leaves all of it or none."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    partial = file.with_name(f"{file.name}.{os.getpid()}.partial")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    partial.rename(file)


def _file(data_dir: Path) -> Path:
    return data_dir / "keys" / "postgres.json"
