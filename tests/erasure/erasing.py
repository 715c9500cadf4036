"""Sessions to erase, and what must be gone afterwards."""

from typing import Any
from uuid import UUID

from approvals.resume.purging import purge_tenant
from approvals.services.erasure import (
    erase_session,
    let_go,
    outdated_in,
)
from audit.verify import verify_tenant
from kernel.scope import tenant_transaction
from sessions.services import append_items, complete_run
from sessions.services.runs import start_run
from sessions.services.sessions import open_session
from tenants.checks import Operator
from tests.approvals.stage import Stage
from tests.checkpoints.tampering import superuser_says, tamper
from tests.erasure.test_canaries import dump

BY = Operator.CONSOLE


def ended_session(stage: Stage, items: int = 3, subject: str = "customer-7") -> UUID:
    who = stage.house.robot.principal
    session = open_session(who=who, subject=subject)
    run, _ = start_run(who=who, session_id=session.id)
    append_items(who=who, session_id=session.id, items=['"hello"'] * items)
    complete_run(who=who, run_id=run.id, fence=run.fence)
    return session.id


def age(stage: Stage, session_id: UUID, days: int) -> None:
    change = f"ended_at = ended_at - interval '{days} days'"
    superuser_says(
        f"update agent_sessions_run set {change} where session_id = '{session_id}'"
    )
    past = f"created_at = created_at - interval '{days} days'"
    tamper("agent_sessions_session", past, session_id)


def count(stage: Stage, model: Any, **where: Any) -> int:
    with tenant_transaction(stage.tenant_id):
        return int(model.objects.filter(tenant_id=stage.tenant_id, **where).count())


def erase_outdated(tenant_id: UUID) -> int:
    return sum(let_go(tenant_id, one) for one in outdated_in(tenant_id))


def purge_all(stage: Stage) -> None:
    purge_tenant(stage.tenant_id)


def gone(stage: Stage, session_id: UUID, word: str) -> None:
    """Erase the session, purge, and see that the word is nowhere."""
    assert word in dump()
    erase_session(tenant_id=stage.tenant_id, by=BY, session_id=session_id)
    purge_all(stage)
    found = dump()
    assert [line[:80] for line in found.splitlines() if word in line] == []
    assert word.encode().hex() not in found
    assert verify_tenant(stage.tenant_id).intact
