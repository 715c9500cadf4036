"""Found a tenant from the console."""

import getpass
import json
import sys
from typing import Any

from django.contrib.auth import password_validation
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from kernel.problems import Problem
from tenants.models import User
from tenants.services import Founded, add_user, create_tenant


class Command(BaseCommand):
    help = (
        "Found a tenant with its first owner. Someone new is asked for a password;"
        " without a terminal it is read as one line of standard input."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="address of the tenant: /t/SLUG/")
        parser.add_argument("--name", required=True, help="what people call it")
        parser.add_argument("--owner", required=True, metavar="EMAIL")
        parser.add_argument("--owner-name", help="for someone new")
        parser.add_argument(
            "--solo",
            action="store_true",
            help="let the owner decide on their own agents until somebody joins",
        )
        parser.add_argument("--json", action="store_true", help="for machines")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            founded = create_tenant(
                slug=options["slug"],
                name=options["name"],
                owner_id=self._owner(options["owner"], options["owner_name"]).id,
                solo=options["solo"],
            )
        except Problem as problem:
            raise CommandError(str(problem)) from problem
        self.stdout.write(_json(founded) if options["json"] else _text(founded))

    def _owner(self, email: str, name: str | None) -> User:
        user = User.objects.filter(email=email.lower()).first()
        if user is not None:
            return user
        if not name:
            raise CommandError(f"{email} is new here: give --owner-name.")
        password = _password()
        try:
            password_validation.validate_password(password, User(email=email))
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        return add_user(email=email, name=name, password=password)


def _password() -> str:
    if sys.stdin.isatty():
        return getpass.getpass("Password of the owner: ")
    return sys.stdin.readline().rstrip("\n")


def _json(founded: Founded) -> str:
    tenant = founded.tenant
    return json.dumps(
        {"id": str(tenant.id), "slug": tenant.slug, "owner": str(founded.owner.id)}
    )


def _text(founded: Founded) -> str:
    return f"{founded.tenant.name} is at /t/{founded.tenant.slug}/"
