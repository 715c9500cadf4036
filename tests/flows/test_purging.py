"""Purging what was erased: whole, whatever is in it, and beside whatever else happens."""

import pytest
from django.db import connection

from approvals.services.erasure import erase_session
from sessions.models import Hold
from sessions.services.retention import place_hold
from tests.approvals.stage import Stage, fresh_stage
from tests.flows.test_erasure import BY, count, ended_session
from tests.refusals import refused
from tests.tenants.test_isolation import gate_shared


@pytest.fixture
def stage() -> Stage:
    return fresh_stage()


def test_a_hold_waits_for_whoever_may_be_erasing(stage: Stage) -> None:
    session_id = ended_session(stage)
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '50ms'")
    try:
        with gate_shared(stage.tenant_id):
            with refused("busy", status=503):
                place_hold(
                    tenant_id=stage.tenant_id,
                    by=BY,
                    reason="Dispute 7",
                    session_id=session_id,
                )
            erase_session(tenant_id=stage.tenant_id, by=BY, session_id=session_id)
    finally:
        with connection.cursor() as cursor:
            cursor.execute("RESET lock_timeout")
    assert count(stage, Hold) == 0
