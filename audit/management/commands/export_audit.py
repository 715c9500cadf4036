"""`manage.py export_audit`: a chain as a file that can be checked anywhere."""

import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from django.core.management.base import BaseCommand, CommandError

from audit.export import export_chain
from audit.management.progress import shown_progress
from audit.queries import find_tenant


class Command(BaseCommand):
    help = "Write a tenant's audit chain as NDJSON (audit/offline/verify_export.py)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--tenant", required=True, help="its name or id")
        parser.add_argument("--out", required=True, help="a new file; - for stdout")

    def handle(self, *, tenant: str, out: str, **_: Any) -> None:
        try:
            tenant_id = find_tenant(tenant)
        except LookupError as error:
            raise CommandError(str(error), returncode=2) from None
        with _opened(out) as file, shown_progress(tenant, hidden=False) as progress:
            head = export_chain(tenant_id, file, progress=progress)
        self.stderr.write(f"{head.seq:,} entries, head {head.hash.hex()[:16]}")


@contextmanager
def _opened(out: str) -> Iterator[IO[bytes]]:
    """The file, which appears under its name only when it is complete."""
    if out == "-":
        yield sys.stdout.buffer
        return
    path = Path(out)
    if path.exists():
        raise CommandError(f"{path} exists already.", returncode=2)
    draft = path.with_name(f"{path.name}.partial")
    with draft.open("wb") as file:
        yield file
    draft.rename(path)
