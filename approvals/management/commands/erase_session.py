"""`manage.py erase_session`: erase what one session holds."""

from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError

from approvals.services.erasure import erase_session
from audit.queries import find_tenant
from kernel.problems import Problem
from tenants.checks import Operator


class Command(BaseCommand):
    help = (
        "Erase one session: unreadable at once, removed by the next purge. Runs that go"
        " on are cancelled. The audit chain stays whole."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("tenant", help="its name in addresses, or its id")
        parser.add_argument("session", type=UUID, help="its id")
        parser.add_argument(
            "--confirm",
            required=True,
            type=UUID,
            metavar="SESSION",
            help="the same once more",
        )

    def handle(self, *, tenant: str, session: UUID, confirm: UUID, **_: Any) -> None:
        if session != confirm:
            raise CommandError("--confirm names another session.")
        try:
            erase_session(
                tenant_id=find_tenant(tenant), by=Operator.CONSOLE, session_id=session
            )
        except (LookupError, Problem) as error:
            raise CommandError(str(error)) from error
        self.stdout.write("1 session erased. Remove the rows: purge")
