"""How long what is kept is kept, by kind of work, and what keeps it longer."""

import pytest
from django.db import connection
from django.db.utils import IntegrityError, ProgrammingError

from approvals.services.erasure import (
    erase_session,
    erase_subject,
    purge_leftovers,
    purge_step,
)
from kernel.scope import tenant_transaction
from sessions.models import Item
from sessions.services import define_workflow
from sessions.services.retention import lift_hold, place_hold, set_retention
from tenants.models import IdempotencyRecord
from tests.api import Api
from tests.approvals.stage import Stage, fresh_stage
from tests.chain import kinds_of
from tests.checkpoints.tampering import tamper
from tests.erasure.erasing import (
    BY,
    age,
    count,
    ended_session,
    erase_outdated,
)
from tests.refusals import refused


@pytest.fixture
def stage() -> Stage:
    return fresh_stage()


def test_nothing_under_a_hold_is_erased(stage: Stage) -> None:
    tenant_id, session_id = stage.tenant_id, ended_session(stage)
    free = ended_session(stage, subject="customer-8")
    hold = place_hold(
        tenant_id=tenant_id, by=BY, reason="Dispute 7", session_id=session_id
    )
    with refused("legal_hold", status=409):
        erase_subject(tenant_id=tenant_id, by=BY, subject="customer-7")
    with refused("legal_hold", status=409):
        erase_session(tenant_id=tenant_id, by=BY, session_id=session_id)
    set_retention(tenant_id=tenant_id, by=BY, days=30)
    for one in (session_id, free):
        age(stage, one, 31)
    assert erase_outdated(tenant_id) == 1
    lift_hold(tenant_id=tenant_id, by=BY, hold_id=hold.id, reason="Over.")
    assert erase_outdated(tenant_id) == 1


def test_the_database_itself_keeps_to_holds_and_ended_runs(stage: Stage) -> None:
    held, live = ended_session(stage), stage.run()
    for session_id, why in ((held, "legal hold"), (live.session_id, "not ended")):
        if session_id == held:
            place_hold(tenant_id=stage.tenant_id, by=BY, reason="x", session_id=held)
        with (
            pytest.raises(IntegrityError, match=why),
            tenant_transaction(stage.tenant_id),
            connection.cursor() as cursor,
        ):
            cursor.execute("SELECT keyturn_erase_session(%s)", [session_id])
    with pytest.raises(IntegrityError, match="not erased"):
        purge_step(stage.tenant_id, held)
    with pytest.raises(ProgrammingError), tenant_transaction(stage.tenant_id):
        Item.objects.filter(session_id=held).delete()
    assert count(stage, Item) == 3


@pytest.mark.parametrize(
    ("terms", "days", "goes"),
    [
        ({"": 30}, 31, True),
        ({"": 30}, 29, False),
        ({"default": 30}, 31, True),
        ({"default": 30}, 29, False),
        ({"default": 60, "": 30}, 31, False),
        ({"default": 30, "": 60}, 31, True),
        ({"other": 30}, 1_000, False),
        ({}, 1_000, False),
    ],
)
def test_each_kind_of_work_has_its_term(
    stage: Stage, terms: dict[str, int], days: int, goes: bool
) -> None:
    age(stage, ended_session(stage), days)
    for kind, term in terms.items():
        set_retention(tenant_id=stage.tenant_id, by=BY, days=term, kind=kind)
    assert erase_outdated(stage.tenant_id) == int(goes)


@pytest.mark.parametrize(
    ("terms", "days", "goes"),
    [
        ({}, 31, True),
        ({}, 29, False),
        ({"": 5}, 29, False),
        ({"": 60}, 31, True),
        ({"default": 60}, 31, False),
        ({"default": 5}, 29, True),
    ],
)
def test_a_workflow_names_the_term_of_its_runs_unless_the_tenant_does(
    stage: Stage, terms: dict[str, int], days: int, goes: bool
) -> None:
    define_workflow(
        tenant_id=stage.tenant_id,
        by=BY,
        kind="default",
        definition={"retention": {"days": 30}},
    )
    session_id = ended_session(stage)
    define_workflow(tenant_id=stage.tenant_id, by=BY, kind="default", definition={})
    age(stage, session_id, days)
    for kind, term in terms.items():
        set_retention(tenant_id=stage.tenant_id, by=BY, days=term, kind=kind)
    assert erase_outdated(stage.tenant_id) == int(goes)


def test_a_live_run_keeps_its_session(stage: Stage) -> None:
    run = stage.run()
    set_retention(tenant_id=stage.tenant_id, by=BY, days=1)
    past = "created_at = created_at - interval '9 days'"
    tamper("agent_sessions_session", past, run.session_id)
    assert erase_outdated(stage.tenant_id) == 0


def test_only_administrators_say_how_long(stage: Stage) -> None:
    who = {"tenant_id": stage.tenant_id, "by": stage.bob.id}
    with refused("not_permitted", status=403):
        set_retention(**who, days=3)
    with refused("not_permitted", status=403):
        erase_session(**who, session_id=ended_session(stage))
    other = fresh_stage()
    with refused("not_found", status=404):
        erase_session(tenant_id=other.tenant_id, by=BY, session_id=ended_session(stage))


def test_old_answers_and_done_jobs_go_and_young_ones_stay(stage: Stage) -> None:
    api = Api.of(stage.house.robot)
    for key in ("old", "young"):
        api.post("sessions", {"subject": "c"}, Idempotency_Key=key)
    with tenant_transaction(stage.tenant_id):
        first = IdempotencyRecord.objects.order_by("created_at")[0]
    past = "created_at = created_at - interval '8 days'"
    tamper("tenants_idempotencyrecord", past, first.id)
    assert purge_leftovers(stage.tenant_id) == 1
    assert count(stage, IdempotencyRecord) == 1
    assert purge_leftovers(stage.tenant_id) == 0
    kinds = kinds_of(stage.tenant_id, stage.tenant_id)
    assert kinds.count("tenant.leftovers_purged") == 1
