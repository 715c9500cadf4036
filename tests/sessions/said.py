"""What a session's branch says, read as doors read it."""

from kernel.scope import tenant_transaction
from sessions.models import Session
from sessions.queries import TRUNK, latest_items
from tenants.principal import Principal


def raws(who: Principal, session: Session, branch: int = TRUNK) -> list[str]:
    """The texts, oldest first."""
    with tenant_transaction(who.tenant_id):
        return [item.raw for item in latest_items(session, 10_000, branch=branch)]


def positions(who: Principal, session: Session, branch: int = TRUNK) -> list[int]:
    """Where they are."""
    with tenant_transaction(who.tenant_id):
        return [item.position for item in latest_items(session, 10_000, branch=branch)]
