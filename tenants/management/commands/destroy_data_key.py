"""`manage.py destroy_data_key`: make all that is sealed for a tenant unreadable."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from audit.queries import find_tenant
from tenants.services.data_keys import destroy_data_key


class Command(BaseCommand):
    help = (
        "Destroy a tenant's data key. Its items and checkpoint payloads stay unreadable"
        " for ever; its audit chain stays whole."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("tenant", help="its name in addresses, or its id")
        parser.add_argument(
            "--confirm", required=True, metavar="TENANT", help="the same once more"
        )

    def handle(self, *, tenant: str, confirm: str, **_: Any) -> None:
        if tenant != confirm:
            raise CommandError("--confirm names another tenant.")
        try:
            tenant_id = find_tenant(tenant)
        except LookupError as error:
            raise CommandError(str(error)) from error
        destroy_data_key(tenant_id)
        self.stdout.write(f"The data key of {tenant} is destroyed.")
