"""`manage.py verify_audit`: is everybody's chain whole?

Exit code 0: intact. 1: broken, and the first bad entry is named. 2: could not check.

It lists the tenants as the relay and reads each as the app role in that tenant's
scope: nothing is granted for it that a running installation does not have anyway.
"""

import json
import sys
from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand
from django.db import DatabaseError

from audit.anchors import Anchors, anchors_file, read_anchors
from audit.management.progress import shown_progress
from audit.queries import find_tenant, tenant_name, tenants_with_chain
from audit.verify import Report, verify_tenant

INTACT, BROKEN, NOT_CHECKED = 0, 1, 2


class Command(BaseCommand):
    help = "Verify the audit chain. Exit code 0: intact, 1: broken, 2: not checked."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--tenant", help="only this one: its name or id")
        parser.add_argument("--json", action="store_true", help="for machines")
        parser.add_argument(
            "--fast",
            action="store_true",
            help="hashes only: finds damage, not a re-hashed chain",
        )

    def handle(self, **options: Any) -> None:
        try:
            code = self.verify(**options)
        except (DatabaseError, ImproperlyConfigured, LookupError, OSError) as error:
            self.stderr.write(f"Could not check: {error}")
            code = NOT_CHECKED
        sys.exit(code)

    def verify(self, *, tenant: str | None, json: bool, fast: bool, **_: Any) -> int:
        """Check, print, and return the exit code."""
        anchors = read_anchors(anchors_file())
        reports = [
            self.report(tenant_id, anchors, fast=fast, quiet=json)
            for tenant_id in _chosen(tenant, anchors)
        ]
        if json:
            self.stdout.write(_json(reports, anchors))
        elif anchors.flaw:
            self.stdout.write(self.style.ERROR(f"BROKEN anchors: {anchors.flaw}"))
        whole = all(report.intact for report in reports) and not anchors.flaw
        return INTACT if whole else BROKEN

    def report(
        self, tenant_id: UUID, anchors: Anchors, *, fast: bool, quiet: bool
    ) -> Report:
        """Check one tenant and print its line."""
        name = tenant_name(tenant_id)
        with shown_progress(name, hidden=quiet) as progress:
            report = verify_tenant(
                tenant_id, anchors=anchors.of(tenant_id), fast=fast, progress=progress
            )
        if not quiet:
            style = self.style.SUCCESS if report.intact else self.style.ERROR
            self.stdout.write(style(_line(name, report)))
        return report


def _chosen(tenant: str | None, anchors: Anchors) -> list[UUID]:
    """The named tenant, or everyone who has, or once had, a chain."""
    known = {*tenants_with_chain(), *anchors.tenants}
    if not tenant:
        return sorted(known)
    tenant_id = find_tenant(tenant)
    if tenant_id not in known:
        raise LookupError(f"Tenant {tenant_id} has no audit chain.")
    return [tenant_id]


def _line(name: str, report: Report) -> str:
    if report.flaw:
        flaw = report.flaw
        return f"BROKEN {name} at entry {flaw.seq}: {flaw.reason}: {flaw.detail}"
    how = "signatures checked" if report.signatures_checked else "hashes only"
    return (
        f"intact {name}: {report.entries:,} entries, {how}, {report.anchors} anchors,"
        f" head {report.head_hash.hex()[:16]}, {report.entries_per_second:,.0f}/s"
    )


def _json(reports: list[Report], anchors: Anchors) -> str:
    whole = all(report.intact for report in reports) and not anchors.flaw
    document = {
        "intact": whole,
        "anchors": {"lines": len(anchors.lines), "flaw": anchors.flaw},
        "tenants": [_document(report) for report in reports],
    }
    return json.dumps(document, indent=2)


def _document(report: Report) -> dict[str, Any]:
    flaw = report.flaw
    return {
        "tenant": str(report.tenant_id),
        "intact": report.intact,
        "entries": report.entries,
        "head": {"seq": report.head_seq, "hash": report.head_hash.hex()},
        "anchors": report.anchors,
        "signatures_checked": report.signatures_checked,
        "seconds": round(report.seconds, 3),
        "entries_per_second": round(report.entries_per_second),
        "flaw": flaw
        and {"seq": flaw.seq, "reason": flaw.reason.value, "detail": flaw.detail},
    }
