"""The database of a test process, and how it begins."""

import hashlib
from pathlib import Path
from typing import Final

from django.conf import settings
from django.core.management import call_command
from django.db import connections

from config.embedded import postgres

BASE_DIR: Final = Path(__file__).resolve().parent.parent


def fresh_database(data_dir: Path) -> None:
    """Replace the database by a copy of a migrated one, which is kept between runs."""
    template = f"migrated_{_schema_digest()}"
    present = postgres.databases(data_dir)
    postgres.drop_database(data_dir, "keyturn")
    if template in present:
        postgres.create_database(data_dir, "keyturn", template=template)
        return
    postgres.create_database(data_dir, "keyturn")
    call_command("migrate", verbosity=0)
    disconnect()
    for outdated in present:
        if outdated.startswith("migrated_"):
            postgres.drop_database(data_dir, outdated)
    postgres.create_database(data_dir, template, template="keyturn")


def begin_anew() -> None:
    """Nothing of earlier tests in database or broker: nobody may be connected.

    Otherwise a worker that starts now spends its first minute on what they left behind:
    messages of theirs, and all that has become due.
    """
    disconnect()
    fresh_database(settings.DATA_DIR)
    for message in (settings.DATA_DIR / "broker" / "messages").iterdir():
        message.unlink()


def disconnect() -> None:
    """Leave the database alone, with every connection of this process."""
    connections.close_all()
    connections["default"].close_pool()


def _schema_digest() -> str:
    """Digest everything that a migrated database can depend on."""
    digest = hashlib.sha256()
    for pattern in ("*/migrations/*.py", "kernel/*.py", "config/**/*.sql", "uv.lock"):
        for file in sorted(BASE_DIR.glob(pattern)):
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]
