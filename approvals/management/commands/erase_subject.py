"""`manage.py erase_subject`: erase what is kept about one end user."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from approvals.services.erasure import erase_subject
from audit.queries import find_tenant
from kernel.problems import Problem
from tenants.checks import Operator


class Command(BaseCommand):
    help = (
        "Erase every session that serves a subject: unreadable at once, removed by the"
        " next purge. Runs that go on are cancelled. The audit chain stays whole."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("tenant", help="its name in addresses, or its id")
        parser.add_argument("subject", help="exactly as the sessions have it")
        parser.add_argument(
            "--confirm", required=True, metavar="SUBJECT", help="the same once more"
        )

    def handle(self, *, tenant: str, subject: str, confirm: str, **_: Any) -> None:
        if subject != confirm:
            raise CommandError("--confirm names another subject.")
        try:
            erased = erase_subject(
                tenant_id=find_tenant(tenant), by=Operator.CONSOLE, subject=subject
            )
        except (LookupError, Problem) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{len(erased)} sessions erased. Remove the rows: purge")
