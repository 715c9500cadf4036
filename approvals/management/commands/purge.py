"""`manage.py purge`: erase what was kept long enough, and remove what is erased."""

import json as json_module
from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError

from approvals.resume.purging import purge_tenant
from approvals.services.erasure import STEP
from audit.management.progress import shown_progress
from audit.queries import find_tenant, tenant_name, tenants_with_chain


class Command(BaseCommand):
    help = (
        "Erase sessions whose retention is over and remove the rows of erased ones."
        " It may be killed at any time; the next one goes on."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--tenant", help="only this one: its name or id")
        parser.add_argument(
            "--step", type=int, default=STEP, help="rows of one transaction"
        )
        parser.add_argument("--json", action="store_true", help="for machines")

    def handle(self, *, tenant: str, step: int, json: bool, **_: Any) -> None:
        if step < 1:
            raise CommandError("--step is 1 or more.")
        deferred: set[UUID] = set()
        for tenant_id in _chosen(tenant):
            name = tenant_name(tenant_id)
            with shown_progress(name, hidden=json) as progress:
                done = purge_tenant(tenant_id, step=step, progress=progress)
            deferred |= done.deferred
            said = {"tenant": name, "sessions": done.sessions, "rows": done.rows}
            line = f"{name}: {done.sessions:,} sessions erased, {done.rows:,} rows gone"
            self.stdout.write(json_module.dumps(said) if json else line)
        if deferred:
            which = ", ".join(sorted(map(str, deferred)))
            raise CommandError(f"Left for the next time, see the log: {which}")


def _chosen(tenant: str | None) -> list[UUID]:
    if not tenant:
        return list(tenants_with_chain())
    try:
        return [find_tenant(tenant)]
    except LookupError as error:
        raise CommandError(str(error)) from error
