"""Who may be named to stand in, by whom, and for which time."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from approvals.models import Delegation
from approvals.services.delegations import (
    Leave,
    change_delegation,
    end_delegation,
    make_delegation,
)
from audit.models import Entry
from kernel.ids import new_id
from kernel.scope import tenant_transaction
from tenants.models import Role
from tenants.services import deactivate_member
from tests.approvals.absence import (
    absence,
)
from tests.approvals.stage import fresh_stage
from tests.factories import Somebody, fresh_member
from tests.refusals import refused
from tests.tenants.test_gate import gate_shared, impatient, waits_for_the_gate

NOW = datetime.now(UTC)


# -- making, changing and ending one ---------------------------------------------------


def leave(away: Somebody, instead: Somebody, **said: Any) -> Leave:
    said.setdefault("starts_at", NOW)
    said.setdefault("ends_at", NOW + timedelta(days=3))
    return Leave(delegator_id=away.id, delegate_id=instead.id, **said)


@pytest.mark.parametrize(
    ("pointer", "said"),
    [
        ("/until", {"ends_at": NOW - timedelta(days=1)}),
        ("/until", {"starts_at": NOW - timedelta(9), "ends_at": NOW - timedelta(1)}),
        ("/until", {"ends_at": NOW + timedelta(days=400)}),
        ("/note", {"note": "x" * 301}),
        ("/queues", {"queues": [new_id()]}),
    ],
)
def test_what_cannot_be_is_refused(pointer: str, said: dict[str, Any]) -> None:
    stage = fresh_stage()
    with refused("delegation_invalid", pointer=pointer):
        make_delegation(
            tenant_id=stage.tenant_id,
            by=stage.bob.id,
            leave=leave(stage.bob, stage.reviewer("Bea"), **said),
        )


def test_nobody_is_named_who_could_not_stand_in() -> None:
    stage = fresh_stage()
    of, gone = (
        {"tenant_id": stage.tenant_id, "by": stage.bob.id},
        stage.reviewer("Gone"),
    )
    deactivate_member(
        tenant_id=stage.tenant_id, by=stage.house.alice.id, member_id=gone.id
    )
    for who in (stage.bob, gone, stage.house.charlie):
        with refused("delegation_invalid", pointer="/delegate"):
            make_delegation(**of, leave=leave(stage.bob, who))


def test_it_is_ones_own_or_an_administrators() -> None:
    stage = fresh_stage()
    anna, bea = stage.reviewer("Anna"), stage.reviewer("Bea")
    admin = fresh_member(stage.house.alice, "Ada", role=Role.ADMIN)
    of = {"tenant_id": stage.tenant_id}
    with refused("not_permitted"):
        make_delegation(**of, by=bea.id, leave=leave(anna, bea))
    with refused("not_permitted"):
        make_delegation(**of, by=admin.id, leave=leave(stage.house.alice, bea))
    made = make_delegation(**of, by=admin.id, leave=leave(anna, bea))
    for unseen in (made.id, new_id()):
        with refused("not_permitted"):
            end_delegation(**of, by=bea.id, delegation_id=unseen)
    again = leave(anna, stage.bob, note="Back on Monday.")
    changed = change_delegation(**of, by=anna.id, delegation_id=made.id, leave=again)
    assert stage.fresh(made).ended_by_id == anna.id
    assert changed.delegate_id == stage.bob.id
    end_delegation(**of, by=anna.id, delegation_id=changed.id)
    with refused("delegation_invalid"):
        end_delegation(**of, by=anna.id, delegation_id=changed.id)
    with tenant_transaction(stage.tenant_id):
        entries = Entry.objects.filter(subject_type="delegation").order_by("seq")
        said = [(one.kind, one.data.get("replaces")) for one in entries]
    assert said == [
        ("delegation.made", None),
        ("delegation.ended", None),
        ("delegation.made", str(made.id)),
        ("delegation.ended", None),
    ]
    assert "Monday" not in str([one.data for one in entries])


def test_naming_somebody_waits_for_decisions_under_way() -> None:
    """Also past the verbs: a trigger closes the gate."""
    case = absence()
    tenant_id = case.stage.tenant_id
    with gate_shared(tenant_id), waits_for_the_gate(), tenant_transaction(tenant_id):
        impatient()
        Delegation.objects.filter(id=case.delegation.id).update(ended_at=NOW)


def test_it_never_begins_in_the_past() -> None:
    stage = fresh_stage()
    early = leave(stage.bob, stage.reviewer("Bea"), starts_at=NOW - timedelta(days=30))
    made = make_delegation(tenant_id=stage.tenant_id, by=stage.bob.id, leave=early)
    assert stage.fresh(made).starts_at >= NOW
