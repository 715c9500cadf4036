"""`manage.py secret_name`: which secrets a tenant's tools may use, by name."""

from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError

from audit.queries import find_tenant
from checkpoints.models import SecretName
from checkpoints.secrets import is_present, variable_of
from checkpoints.services import register_secret, revoke_secret
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from tenants.checks import Operator
from tenants.models import Tenant


class Command(BaseCommand):
    help = (
        "Register, list or remove the names that tools use as secret://NAME. Values are"
        " never asked for: each worker reads them from its environment or a file."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        for verb in ("add", "list", "remove"):
            one = verbs.add_parser(verb)
            one.add_argument("tenant", help="its name in addresses, or its id")
            if verb != "list":
                one.add_argument("name", help="a-z, 0-9 and single underscores inside")
            if verb == "add":
                one.add_argument("--tool", required=True, help="the only one to use it")
                one.add_argument("--host", default="", help="where it must be called")

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
            named = {key: options[key] for key in ("name", "tool", "host")}
            register_secret(**who, **named)
        elif verb == "remove":
            revoke_secret(**who, name=options["name"])


def _standing(tenant_id: UUID) -> list[str]:
    with tenant_transaction(tenant_id):
        slug = Tenant.objects.get(id=tenant_id).slug
        rows = SecretName.objects.filter(revoked_at=None).select_related("tool")
        names = list(rows.order_by("name"))
    lines = [
        f"secret://{one.name} for {one.tool.name} at {one.host}; "
        + _value_here(slug, one.name)
        for one in names
    ]
    return lines or ["no secrets"]


def _value_here(slug: str, name: str) -> str:
    if is_present(slug, name):
        return "a value is here"
    return f"no value here: set {variable_of(slug, name)}, or mount {slug}/{name}"
