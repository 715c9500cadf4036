"""Create an agent from the console, with its first key."""

import json
from argparse import ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from kernel.problems import Problem
from tenants.access import Membership, member_in
from tenants.checks import Operator
from tenants.keys import ENVIRONMENT
from tenants.models import Agent, User
from tenants.scopes import SCOPES
from tenants.services import Issued, create_agent, issue_key


class Command(BaseCommand):
    help = (
        "Create an agent and its first key, which is shown this once. Its owner"
        " answers for it, and so never approves what it asks."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("tenant", help="the tenant's address, as in /t/TENANT/")
        parser.add_argument("name", help="a-z, 0-9 and hyphens")
        parser.add_argument("--owner", required=True, metavar="EMAIL", help="a member")
        parser.add_argument("--environment", type=_environment, default="production")
        parser.add_argument(
            "--scope",
            action="append",
            choices=list(SCOPES),
            help="what the key may do; repeat it for several (default: everything)",
        )
        parser.add_argument("--json", action="store_true", help="for machines")

    def handle(self, *args: Any, **options: Any) -> None:
        owner = _owner(options["owner"], options["tenant"])
        try:
            agent = create_agent(
                tenant_id=owner.tenant_id,
                by=Operator.CONSOLE,
                name=options["name"],
                owners=[owner.member_id],
            )
            issued = issue_key(
                tenant_id=owner.tenant_id,
                by=Operator.CONSOLE,
                agent_id=agent.id,
                name="First key",
                environment=options["environment"],
                scopes=options["scope"] or list(SCOPES),
            )
        except Problem as problem:
            raise CommandError(str(problem)) from problem
        show = _json if options["json"] else _text
        self.stdout.write(show(agent, issued))


def _environment(text: str) -> str:
    if not ENVIRONMENT.fullmatch(text):
        raise ArgumentTypeError("use a-z, 0-9 and hyphens inside")
    return text


def _owner(email: str, slug: str) -> Membership:
    """The operator names a member; the tenant's rows are found through them."""
    try:
        return member_in(User.objects.get(email=email.lower()), slug)
    except (User.DoesNotExist, Problem):
        raise CommandError(f"{email} is no member of {slug}.") from None


def _json(agent: Agent, issued: Issued) -> str:
    return json.dumps({"id": str(agent.id), "name": agent.name, "api_key": issued.text})


def _text(agent: Agent, issued: Issued) -> str:
    return f"{agent.name} has this key, which is never shown again:\n{issued.text}"
