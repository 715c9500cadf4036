"""The pages of people and groups: who may touch whom, and what comes of it."""

from datetime import timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.db.models import F

from approvals.access import holders
from kernel.ids import new_id
from kernel.scope import tenant_transaction
from tenants.access import memberships
from tenants.models import Invitation, Member, Role, User
from tenants.services import (
    add_member,
    create_group,
    deactivate_member,
    record_sign_in,
)
from tests.approvals.stage import Stage, fresh_stage
from tests.approvals.superuser import superuser
from tests.approvals.views.browsing import Reader, reader
from tests.factories import Somebody, fresh_member, fresh_user, unique
from tests.oversight.administering import HOSTILE, statements, text, turned_away


@pytest.fixture
def stage() -> Stage:
    return fresh_stage()


@pytest.fixture
def alice(stage: Stage) -> Reader:
    return reader(stage, stage.house.alice)


@pytest.fixture
def admin(stage: Stage) -> Reader:
    return reader(stage, fresh_member(stage.house.alice, "Ada", role=Role.ADMIN))


def path(who: Somebody) -> str:
    return f"people/{who.id}"


def group(stage: Stage) -> str:
    return f"groups/{stage.house.reviewers.id}"


def now(stage: Stage, who: Somebody) -> Member:
    with tenant_transaction(stage.tenant_id):
        return Member.objects.get(id=who.id)


def decides(stage: Stage, who: Somebody) -> bool:
    with tenant_transaction(stage.tenant_id):
        return who.id in holders(
            tenant_id=stage.tenant_id, queue_id=stage.queue.id, permission="decide"
        )


def row_of(view: Any, who: Somebody) -> Any:
    return next(row for row in view.rows if row.id == str(who.id))


def test_members_are_listed_with_role_groups_and_last_sign_in(
    stage: Stage, alice: Reader
) -> None:
    view = alice.get("people").context["people"]
    bob, owner = row_of(view, stage.bob), row_of(view, stage.house.alice)
    assert (bob.role, bob.state, bob.groups) == ("Reviewer", "on", ("Reviewers",))
    assert (bob.email, bob.seen_at) == (stage.bob.user.email, None)
    assert owner.role == "Owner"


def test_the_last_sign_in_is_that_of_this_tenant(stage: Stage, alice: Reader) -> None:
    record_sign_in(memberships(stage.bob.user)[0])
    assert row_of(alice.get("people").context["people"], stage.bob).seen_at is not None


def asked(**said: str) -> dict[str, str]:
    email = f"new-{unique()}@example.test"
    return {"act": "invite", "email": email, "name": "Nia", "role": "developer", **said}


def test_somebody_is_asked_in_and_is_no_member(stage: Stage, alice: Reader) -> None:
    said = asked()
    shown = alice.post("people", said).context["people"]
    assert "/invitations/" in shown.link.href  # no mail is sent here
    (row,) = shown.invited
    assert (row.email, row.name, row.role) == (said["email"], "Nia", "Developer")
    assert said["email"] not in {one.email for one in shown.rows}
    assert not User.objects.filter(email=said["email"]).exists()
    assert alice.get("people").context["people"].link is None  # once


def test_whether_somebody_is_known_elsewhere_is_not_told(
    stage: Stage, alice: Reader
) -> None:
    known = fresh_user("Zoe")
    answer = alice.post("people", asked(email=known.email, name=""))
    assert "Zoe" not in answer.content.decode()
    assert [one.name for one in answer.context["people"].invited] == [""]
    assert alice.post("people", asked(email=known.email)).status_code == 409


def test_an_invitation_is_sent_again_and_taken_back(
    stage: Stage, alice: Reader
) -> None:
    first = alice.post("people", asked()).context["people"]
    which = {"invitation": first.invited[0].id}
    soon = alice.post("people", {"act": "resend", **which})
    assert soon.status_code == 429
    assert "Wait a minute" in text(soon)
    with tenant_transaction(stage.tenant_id):
        Invitation.objects.update(sent_at=F("sent_at") - timedelta(minutes=1))
    again = alice.post("people", {"act": "resend", **which}).context["people"]
    assert again.link.href != first.link.href
    assert alice.post("people", {"act": "revoke", **which}).status_code == 303
    assert alice.get("people").context["people"].invited == ()
    assert alice.post("people", {"act": "revoke", **which}).status_code == 404


def test_with_mail_no_link_is_shown(alice: Reader, settings: LazySettings) -> None:
    settings.MAILS = True
    assert alice.post("people", asked()).status_code == 303
    (row,) = alice.get("people").context["people"].invited
    assert row.mail == "on its way"


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({"email": "nobody"}, "email"),
        ({"email": ""}, "email"),
        ({"name": "\u202egnp"}, "name"),
        ({"role": "emperor"}, "role"),
    ],
)
def test_what_is_wrong_stands_beside_its_field(
    stage: Stage, alice: Reader, said: dict[str, str], field: str
) -> None:
    typed = asked(**said)
    answer = alice.post("people", typed)
    form = answer.context["people"].form
    assert (answer.status_code, list(form.errors)) == (422, [field])
    assert form.typed["email"] == typed["email"]
    assert f'id="invite-{field}-error"' in text(answer)


def test_a_role_is_changed_and_rights_are_ended_and_given_back(
    stage: Stage, alice: Reader
) -> None:
    bob = stage.bob
    alice.post(path(bob), {"act": "role", "role": "auditor"})
    assert now(stage, bob).role == Role.AUDITOR
    assert alice.post(path(bob), {"act": "deactivate"}).status_code == 303
    assert reader(stage, bob).get("queue").status_code == 404
    assert row_of(alice.get("people").context["people"], bob).state == "off"
    assert alice.post(path(bob), {"act": "deactivate"}).status_code == 409
    alice.post(path(bob), {"act": "reactivate"})
    assert reader(stage, bob).get("queue").status_code == 200


def test_the_last_owner_stays(stage: Stage, alice: Reader) -> None:
    owner = stage.house.alice
    for said in ({"act": "deactivate"}, {"act": "role", "role": "reviewer"}):
        answer = alice.post(path(owner), said)
        assert (answer.status_code, "last_owner" in text(answer)) == (409, True)
    assert now(stage, owner).role == Role.OWNER


def test_only_owners_touch_owners(stage: Stage, admin: Reader) -> None:
    owner = stage.house.alice
    shown = admin.get(path(owner)).context["person"]
    assert not shown.may_touch
    assert "owner" not in {one.value for one in shown.roles}
    for target, said in (
        (owner, {"act": "deactivate"}),
        (owner, {"act": "role", "role": "reviewer"}),
        (stage.bob, {"act": "role", "role": "owner"}),
    ):
        assert admin.post(path(target), said).status_code == 403
    assert admin.post("people", asked(role="owner")).status_code == 403
    assert now(stage, owner).active
    assert now(stage, stage.bob).role == Role.REVIEWER
    admin.post(path(stage.bob), {"act": "deactivate"})
    assert not now(stage, stage.bob).active


def test_groups_are_joined_and_left_and_rights_go_with_them(
    stage: Stage, alice: Reader
) -> None:
    carol, reviewers = fresh_member(stage.house.alice, "Carol"), stage.house.reviewers
    alice.post(path(carol), {"act": "join", "group": str(reviewers.id)})
    assert decides(stage, carol)
    shown = alice.get(path(carol)).context["person"]
    assert [one.text for one in shown.groups] == ["Reviewers"]
    alice.post(path(carol), {"act": "leave", "group": str(reviewers.id)})
    assert not decides(stage, carol)
    alice.post(group(stage), {"act": "add", "member": str(carol.id)})
    assert decides(stage, carol)
    alice.post(group(stage), {"act": "remove", "member": str(carol.id)})
    assert not decides(stage, carol)
    again = alice.post(group(stage), {"act": "remove", "member": str(carol.id)})
    assert again.status_code == 409


def test_a_group_is_created_and_counted(stage: Stage, alice: Reader) -> None:
    assert alice.post("groups", {"name": "Finance"}).status_code == 303
    rows = {row.name: row.members for row in alice.get("groups").context["groups"].rows}
    assert rows == {"Finance": 0, "Reviewers": 2}
    for name in ("Finance", ""):
        answer = alice.post("groups", {"name": name})
        assert answer.status_code in {409, 422}
        assert 'id="create-name-error"' in text(answer)


def test_nobody_chosen_is_said_beside_the_list(stage: Stage, alice: Reader) -> None:
    create_group(tenant_id=stage.tenant_id, by=stage.house.alice.id, name="Other")
    fresh_member(stage.house.alice, "Carol")
    for where, act, field in (
        (path(stage.bob), "join", "group"),
        (group(stage), "add", "member"),
    ):
        answer = alice.post(where, {"act": act, field: ""})
        assert answer.status_code == 422
        assert f'id="{act}-{field}-error"' in text(answer)


def test_what_nobody_offered_does_not_exist(stage: Stage, alice: Reader) -> None:
    for where, said in (
        (path(stage.bob), {"act": "sing"}),
        (path(stage.bob), {"act": "role", "role": "emperor"}),
        (path(stage.bob), {"act": "join", "group": str(new_id())}),
        (path(stage.bob), {"act": "leave", "group": "x"}),
        (group(stage), {"act": "add", "member": str(new_id())}),
        (group(stage), {"act": "sing"}),
    ):
        assert alice.post(where, said).status_code == 404, said
    for where in (f"people/{new_id()}", f"groups/{new_id()}"):
        assert alice.get(where).status_code == 404
    assert alice.get("people?after=x").status_code == 200


def test_only_administrators_look(stage: Stage, alice: Reader) -> None:
    turned_away(alice, "people", "")
    turned_away(alice, path(stage.bob), "deactivate", "role", "join")
    turned_away(alice, "groups", "")
    turned_away(alice, group(stage), "add", "remove")
    assert now(stage, stage.bob).active


def test_a_neighbour_finds_nobody(stage: Stage) -> None:
    other = fresh_stage()
    theirs = reader(other, other.house.alice)
    member, own = str(stage.bob.id), f"groups/{other.house.reviewers.id}"
    for where, said in (
        (path(stage.bob), {"act": "deactivate"}),
        (group(stage), {"act": "add", "member": str(other.bob.id)}),
        (own, {"act": "add", "member": member}),
    ):
        assert theirs.post(where, said).status_code == 404
    assert theirs.get(path(stage.bob)).status_code == 404
    assert theirs.get(group(stage)).status_code == 404
    assert stage.bob.user.email not in text(theirs.get("people"))
    assert now(stage, stage.bob).active


def test_groups_elsewhere_are_not_shown(stage: Stage, alice: Reader) -> None:
    """Somebody of two tenants: each sees its own."""
    other = fresh_stage()
    theirs = reader(other, other.house.alice)
    here = {"tenant_id": other.tenant_id, "by": other.house.alice.id}
    add_member(**here, user_id=stage.bob.user.id, role=Role.REVIEWER)
    shown = theirs.get("people").context["people"].rows
    assert [one.groups for one in shown if one.email == stage.bob.user.email] == [()]
    assert row_of(alice.get("people").context["people"], stage.bob).groups == (
        "Reviewers",
    )


def test_names_are_inert(stage: Stage, alice: Reader) -> None:
    with superuser() as eye:
        named = "UPDATE tenants_member SET name = %s WHERE id = %s"
        eye.execute(named, [HOSTILE, stage.bob.id])
    create_group(tenant_id=stage.tenant_id, by=stage.house.alice.id, name=HOSTILE)
    for where in ("people", path(stage.bob), "groups", group(stage)):
        assert HOSTILE not in alice.get(where).content.decode()


def test_many_cost_no_more_statements_than_one(stage: Stage, alice: Reader) -> None:
    pages = ("people", path(stage.bob), "groups", group(stage))
    few = [statements(alice, where) for where in pages]
    for name in ("Carol", "Dagny", "Erin"):
        fresh_member(stage.house.alice, name, group=stage.house.reviewers)
        create_group(tenant_id=stage.tenant_id, by=stage.house.alice.id, name=name)
    assert [statements(alice, where) for where in pages] == few


def test_who_is_inactive_is_shown_in_their_groups(stage: Stage, alice: Reader) -> None:
    deactivate_member(
        tenant_id=stage.tenant_id, by=stage.house.alice.id, member_id=stage.bob.id
    )
    assert row_of(alice.get(group(stage)).context["group"], stage.bob).state == "off"


@pytest.mark.parametrize("mails", [True, False])
def test_it_says_how_the_link_goes_to_them(
    alice: Reader, settings: LazySettings, mails: bool
) -> None:
    settings.MAILS = mails
    html = alice.get("people").content.decode()
    assert ("No mail is sent here" in html) is not mails
