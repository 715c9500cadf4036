"""What has to be so whenever somebody new comes in, whichever way they come."""

from uuid import UUID

from kernel.problems import Kind, Problem
from tenants.checks import TENANT_STOPPED, Operator, permitted_role
from tenants.models import Role, Tenant


def require_running(tenant_id: UUID) -> None:
    """Raises `tenant_stopped` (409): also for those whom the operator asked in."""
    rows = Tenant.objects.filter(id=tenant_id, state=Tenant.State.ACTIVE)
    if not rows.exists():
        raise TENANT_STOPPED("Nobody new comes in until it is started again.")


def require_maker(
    tenant_id: UUID, maker_id: UUID | None, role: Role, ended: Kind
) -> None:
    """Whoever may not ask people in any more has nobody come in, either.

    `maker_id` is null for the operator. Raises `ended`.
    """
    try:
        permitted_role(tenant_id, maker_id or Operator.CONSOLE, role)
    except Problem as problem:
        raise ended("Ask for another one.") from problem
