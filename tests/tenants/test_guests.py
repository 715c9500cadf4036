"""Guest auditors: strangers before and after, and never more than readers between."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError

from approvals.models import Request
from approvals.services.queues import RIGHTS, give_right
from audit.models import Entry
from kernel.clock import database_now
from kernel.scope import tenant_transaction
from tenants.models import Member, Role, User
from tenants.services import (
    accept_invitation,
    add_to_group,
    change_role,
    deactivate_member,
    extend_guest,
    invite_guest,
    reactivate_member,
)
from tests.approvals.stage import Stage, fresh_stage
from tests.approvals.views.browsing import reader
from tests.factories import Somebody, fresh_user
from tests.refusals import refused


@pytest.fixture
def stage() -> Stage:
    return fresh_stage()


@pytest.fixture
def gwen(stage: Stage) -> Somebody:
    user = fresh_user("Gwen")
    asked = invite_guest(**by(stage), email=user.email, days=3)
    token = asked.link.rpartition("/")[2]
    member = accept_invitation(token=token, user_id=user.id, name="Gwen")
    return Somebody(user=user, member=member, slug=stage.house.tenant.slug)


def by(stage: Stage) -> dict[str, Any]:
    return {"tenant_id": stage.tenant_id, "by": stage.house.alice.id}


def end_now(stage: Stage, who: Somebody) -> None:
    with tenant_transaction(stage.tenant_id):
        Member.objects.filter(id=who.id).update(until=database_now())


def test_a_guest_sees_what_an_auditor_sees_until_the_time_is_over(
    stage: Stage, gwen: Somebody
) -> None:
    request, browser = stage.ask(), reader(stage, gwen)
    pages = ("queue", f"queue/{request.id}", "audit", f"runs/{request.run_id}/trace")
    assert [browser.get(page).status_code for page in pages] == [200] * 4
    end_now(stage, gwen)
    assert [browser.get(page).status_code for page in pages] == [404] * 4
    extend_guest(**by(stage), member_id=gwen.id, days=1)
    assert browser.get("audit").status_code == 200
    deactivate_member(**by(stage), member_id=gwen.id)
    assert browser.get("audit").status_code == 404
    reactivate_member(**by(stage), member_id=gwen.id)
    assert browser.get("audit").status_code == 200


def test_a_guest_decides_edits_and_administers_nothing(
    stage: Stage, gwen: Somebody
) -> None:
    """Not even in the group that decides, and with every right of their own."""
    add_to_group(**by(stage), group_id=stage.house.reviewers.id, member_id=gwen.id)
    for right in RIGHTS:
        give_right(**by(stage), queue_id=stage.queue.id, right=right, member_id=gwen.id)
    request = stage.ask()
    with refused("not_permitted"):
        stage.answer(request, gwen)
    browser = reader(stage, gwen)
    assert browser.decide(request.id, "approve").status_code == 403
    for path, said in (
        (f"requests/{request.id}/comment", {"text": "Hm."}),
        (f"requests/{request.id}/take", {"act": "take"}),
    ):
        assert browser.post(path, said).status_code == 403
    for path in ("people", "agents", "queues", "groups", "tools"):
        assert browser.get(path).status_code == 403
    assert stage.fresh(request).state == Request.State.PENDING
    stage.answer(request)


def test_a_guest_has_no_other_role(stage: Stage, gwen: Somebody) -> None:
    with refused("guests_audit"):
        change_role(**by(stage), member_id=gwen.id, role=Role.ADMIN)
    with pytest.raises(IntegrityError), tenant_transaction(stage.tenant_id):
        Member.objects.filter(id=gwen.id).update(role=Role.ADMIN)


def test_only_those_who_administer_invite_and_extend(
    stage: Stage, gwen: Somebody
) -> None:
    of_bob = {"tenant_id": stage.tenant_id, "by": stage.bob.id}
    with refused("not_permitted"):
        invite_guest(**of_bob, email="x@example.test", name="X", days=1)
    with refused("not_permitted"):
        extend_guest(**of_bob, member_id=gwen.id, days=1)
    with refused("not_a_guest"):
        extend_guest(**by(stage), member_id=stage.bob.id, days=1)
    for days in (0, 91):
        with refused("guest_time_invalid"):
            extend_guest(**by(stage), member_id=gwen.id, days=days)
    with refused("already_so"):
        invite_guest(**by(stage), email=gwen.user.email, name="Gwen", days=1)


def test_it_is_on_record_from_when_until_when(stage: Stage, gwen: Somebody) -> None:
    extend_guest(**by(stage), member_id=gwen.id, days=9)
    with tenant_transaction(stage.tenant_id):
        member = Member.objects.get(id=gwen.id)
        added = Entry.objects.get(subject_id=gwen.id, kind="member.added")
        extended = Entry.objects.get(subject_id=gwen.id, kind="member.guest_extended")
    assert extended.data == {
        "from": added.data["until"],
        "to": member.until and member.until.isoformat(),
    }


def test_the_pages_invite_list_and_extend(stage: Stage) -> None:
    alice = reader(stage, stage.house.alice)
    wrong = alice.post(
        "people",
        {"act": "guest", "email": "g@example.test", "name": "G", "days": "91"},
    )
    assert wrong.status_code == 422
    assert 'id="guest-days-error"' in wrong.content.decode()
    assert 'value="g@example.test"' in wrong.content.decode()
    email = fresh_user("Gus").email
    said = {"act": "guest", "email": email, "name": "Gus", "days": "2"}
    answer = alice.post("people", said)
    token = answer.context["people"].link.href.rpartition("/")[2]
    gus = User.objects.get(email=email)
    member = accept_invitation(token=token, user_id=gus.id, name="Gus")
    place = f"people/{member.id}"
    row = alice.get(place).context["person"].row
    assert row.until < database_now() + timedelta(days=2)
    alice.post(place, {"act": "extend", "days": "30"})
    later = alice.get(place).context["person"].row
    assert later.until > row.until
    assert "Guest auditor" in alice.get("people").content.decode()
    assert alice.post(place, {"act": "extend", "days": "x"}).status_code == 422
