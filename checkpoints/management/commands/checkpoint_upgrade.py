"""`manage.py checkpoint_upgrade --dry-run`: can every run's head be restored today?

Exit code 0: all can. 1: some would be refused or quarantined, and each is named with
what to do. 2: could not check.

There is nothing else for it to do. An upgrade is taken each time a checkpoint is
restored and comes out the same each time; writing it down would move heads, from which
approvals that wait were asked. So without `--dry-run` it does nothing, and says so.
"""

import json
import sys
from argparse import ArgumentParser
from collections import Counter
from typing import Any
from uuid import UUID

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand
from django.db import DatabaseError

from audit.management.progress import shown_progress
from audit.queries import find_tenant, tenant_name, tenants_with_chain
from checkpoints.rehearsal import Line, Verdict, rehearse

READABLE, REFUSED, NOT_CHECKED = 0, 1, 2
NOTHING_TO_WRITE = (
    "Stored checkpoints are never rewritten: they are upgraded when they are restored."
    " Use --dry-run to see what that would come to."
)


class Command(BaseCommand):
    help = (
        "Say what restoring each run's head would come to. Exit code 0: all can be"
        " restored, 1: some cannot, 2: not checked."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--dry-run", action="store_true", help="the only thing that it does"
        )
        parser.add_argument("--tenant", help="only this one: its name or id")
        parser.add_argument(
            "--ended", action="store_true", help="also runs that have ended"
        )
        parser.add_argument("--json", action="store_true", help="for machines")

    def handle(self, **options: Any) -> None:
        if not options["dry_run"]:
            self.stderr.write(NOTHING_TO_WRITE)
            sys.exit(NOT_CHECKED)
        try:
            code = self.rehearse(**options)
        except (DatabaseError, ImproperlyConfigured, LookupError) as error:
            self.stderr.write(f"Could not check: {error}")
            code = NOT_CHECKED
        sys.exit(code)

    def rehearse(self, *, tenant: str | None, ended: bool, json: bool, **_: Any) -> int:
        """Look at all of them, print, and return the exit code."""
        chosen = [find_tenant(tenant)] if tenant else sorted(tenants_with_chain())
        lines = {one: self.lines(one, ended=ended, quiet=json) for one in chosen}
        if json:
            self.stdout.write(_json(lines))
        refused = any(line.is_refused for of in lines.values() for line in of)
        return REFUSED if refused else READABLE

    def lines(self, tenant_id: UUID, *, ended: bool, quiet: bool) -> list[Line]:
        """One tenant's runs, printed as they are looked at."""
        name, found = tenant_name(tenant_id), []
        with shown_progress(name, hidden=quiet) as progress:
            for line in rehearse(tenant_id, ended=ended, progress=progress):
                found.append(line)
                if not quiet and line.verdict is not Verdict.AS_IS:
                    self.say(name, line)
        if not quiet:
            self.stdout.write(f"{name}: {_count(found)}")
        return found

    def say(self, name: str, line: Line) -> None:
        """What would become of one run, and why."""
        style = self.style.ERROR if line.is_refused else self.style.SUCCESS
        self.stdout.write(style(f"{line.verdict} {name} run {line.run}: {_why(line)}"))


def _why(line: Line) -> str:
    if line.is_refused:
        return f"{line.code}: {line.advice}"
    steps = ", ".join(line.steps)
    return f"checkpoint {line.checkpoint}, schema {line.found} to {line.returned} ({steps})"


def _count(lines: list[Line]) -> str:
    count = Counter(line.verdict for line in lines)
    parts = (f"{count[one]} {one.replace('_', ' ')}" for one in Verdict if count[one])
    return ", ".join(parts) or "no run has a checkpoint"


def _json(lines: dict[UUID, list[Line]]) -> str:
    refused = sum(line.is_refused for of in lines.values() for line in of)
    tenants = [
        {"tenant": str(tenant), "runs": [line.document() for line in of]}
        for tenant, of in lines.items()
    ]
    return json.dumps({"refused": refused, "tenants": tenants}, indent=2)
