"""End a tenant's recovery, after its database was set back to an earlier state."""

import json
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from approvals.services.recovery import Ended, end_recovery
from audit.queries import find_tenant
from kernel.problems import Problem
from tenants.checks import Operator


class Command(BaseCommand):
    help = (
        "Let actions happen again in a tenant whose database was set back to an earlier"
        " state. Approvals that were not used are revoked, standing approvals too, and"
        " every run that had not ended needs a person's attention. Look first at what"
        " happened since the backup: `manage.py verify_audit --tenant TENANT` says where"
        " the pasts part."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("tenant", help="its address, as in /t/TENANT/, or its id")
        parser.add_argument("--reason", required=True, help="kept in the audit log")
        parser.add_argument("--json", action="store_true", help="for machines")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            ended = end_recovery(
                tenant_id=find_tenant(options["tenant"]),
                by=Operator.CONSOLE,
                reason=options["reason"],
            )
        except (LookupError, Problem) as error:
            raise CommandError(str(error)) from error
        show = json.dumps(asdict(ended)) if options["json"] else _text(ended)
        self.stdout.write(show)


def _text(ended: Ended) -> str:
    return (
        f"Recovery has ended. {ended.grants} unused approvals and {ended.standing}"
        f" standing approvals were revoked, {ended.runs} runs need attention, and so do"
        f" {ended.effects} actions."
    )
