"""`manage.py retention`: for how long a tenant keeps things, and what it holds."""

from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError

from audit.queries import find_tenant
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from sessions.contract import Contract
from sessions.models import Hold, Retention, Workflow
from sessions.services.retention import lift_hold, place_hold, set_retention
from tenants.checks import Operator


class Command(BaseCommand):
    help = "Say or show for how long a tenant keeps its sessions, and its legal holds."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("tenant", help="its name in addresses, or its id")
        parser.add_argument("--days", help="a number, or `forever`")
        parser.add_argument("--kind", default="", help="only this kind of work")
        parser.add_argument("--hold", metavar="REASON", help="place a legal hold")
        parser.add_argument("--session", type=UUID, help="hold only this session")
        parser.add_argument("--lift", type=UUID, metavar="HOLD", help="end a hold")
        parser.add_argument("--reason", default="", help="why it ends")

    def handle(self, *, tenant: str, **options: Any) -> None:
        try:
            tenant_id = find_tenant(tenant)
            self._change(tenant_id, **options)
        except (LookupError, ValueError, Problem) as error:
            raise CommandError(str(error)) from error
        for line in _standing(tenant_id):
            self.stdout.write(line)

    def _change(
        self,
        tenant_id: UUID,
        *,
        days: str | None,
        kind: str,
        hold: str | None,
        session: UUID | None,
        lift: UUID | None,
        reason: str,
        **_: Any,
    ) -> None:
        who: dict[str, Any] = {"tenant_id": tenant_id, "by": Operator.CONSOLE}
        if days is not None:
            term = None if days == "forever" else int(days)
            set_retention(**who, days=term, kind=kind)
        if hold is not None:
            place_hold(**who, reason=hold, session_id=session)
        if lift is not None:
            lift_hold(**who, hold_id=lift, reason=reason)


def _by_workflow(tenant_id: UUID, named: set[str]) -> list[str]:
    """What versions of workflows say for kinds that have no term of their own."""
    versions = Workflow.objects.filter(tenant_id=tenant_id).exclude(kind__in=named)
    return [
        f"{one.kind} version {one.version}: {days} days, by its workflow"
        for one in versions.order_by("kind", "version")
        if (days := Contract.of(one).retention) is not None
    ]


def _standing(tenant_id: UUID) -> list[str]:
    with tenant_transaction(tenant_id):
        terms = Retention.objects.filter(tenant_id=tenant_id).order_by("kind")
        holds = Hold.objects.filter(tenant_id=tenant_id, lifted_at=None)
        kept = [f"{one.kind or 'everything else'}: {one.days} days" for one in terms]
        kept += _by_workflow(tenant_id, {one.kind for one in terms})
        held = [
            f"hold {one.id} on {one.session_id or 'everything'}: {one.reason}"
            for one in holds.order_by("created_at")
        ]
    return [*(kept or ["kept for ever"]), *held]
