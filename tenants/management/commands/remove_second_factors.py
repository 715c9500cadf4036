"""`manage.py remove_second_factors`: let somebody in who has lost theirs."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from tenants.models import User
from tenants.services.second_factors import remove_factors


class Command(BaseCommand):
    help = (
        "Remove the second factors of a person who has lost them. Their password alone"
        " signs in from then on: make sure first who it is that asks."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("email")
        parser.add_argument("--confirm", required=True, help="the address once more")

    def handle(self, *, email: str, confirm: str, **_: Any) -> None:
        if email != confirm:
            raise CommandError("--confirm names another address.")
        user = User.objects.filter(email=email).first()
        if user is None:
            raise CommandError(f"Nobody signs in as {email}.")
        self.stdout.write(f"{remove_factors(user)} removed.")
