"""`manage.py allow_passwords`: where nobody can enter a tenant by its provider."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import connection

from kernel.problems import Problem
from tenants.checks import Operator
from tenants.services.single_sign_on import allow_passwords


class Command(BaseCommand):
    help = "Let passwords open a tenant again that refuses them."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("tenant", help="its short name")

    def handle(self, *, tenant: str, **_: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT keyturn_single_sign_on(%s)", [tenant])
            tenant_id = cursor.fetchone()[0]
        if tenant_id is None:
            raise CommandError(f"{tenant} has no single sign-on.")
        try:
            allow_passwords(tenant_id=tenant_id, by=Operator.CONSOLE)
        except Problem as problem:
            raise CommandError(problem.detail) from problem
        self.stdout.write("Passwords open it again.")
