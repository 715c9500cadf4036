"""`manage.py secret_pattern`: what else a tenant takes for a credential."""

from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError

from audit.queries import find_tenant
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from tenants.checks import Operator
from tenants.models import SecretPattern
from tenants.services.patterns import add_secret_pattern, remove_secret_pattern


class Command(BaseCommand):
    help = "Add, list or remove shapes of credentials that are cut out and refused."

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        for verb in ("add", "list", "remove"):
            one = verbs.add_parser(verb)
            one.add_argument("tenant", help="its name in addresses, or its id")
            if verb != "list":
                one.add_argument("kind", help="what it is called where it was cut out")
            if verb == "add":
                one.add_argument("--prefix", required=True, help="how it begins")
                one.add_argument(
                    "--alphabet", required=True, choices=SecretPattern.Alphabet.values
                )
                one.add_argument("--least", type=int, required=True, metavar="N")
                one.add_argument("--most", type=int, metavar="N")

    def handle(self, *, verb: str, tenant: str, **options: Any) -> None:
        try:
            tenant_id = find_tenant(tenant)
            self._change(verb, tenant_id, **options)
        except (LookupError, Problem) as error:
            raise CommandError(str(error)) from error
        for line in _standing(tenant_id):
            self.stdout.write(line)

    def _change(self, verb: str, tenant_id: UUID, **options: Any) -> None:
        who: dict[str, Any] = {"tenant_id": tenant_id, "by": Operator.CONSOLE}
        if verb == "add":
            parts = ("kind", "prefix", "alphabet", "least", "most")
            add_secret_pattern(**who, **{part: options[part] for part in parts})
        elif verb == "remove":
            remove_secret_pattern(**who, kind=options["kind"])


def _standing(tenant_id: UUID) -> list[str]:
    with tenant_transaction(tenant_id):
        rows = list(SecretPattern.objects.order_by("kind"))
    lines = [
        f"{one.kind}: {one.prefix} and {one.least} to {one.most} of {one.alphabet}"
        for one in rows
    ]
    return lines or ["no patterns of its own"]
