"""Invitations: nobody is a member before they say so, and nothing of them is told."""

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.db.models import F
from django.test import Client

from audit.models import Entry
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from tenants.access import memberships
from tenants.checks import Operator
from tenants.models import (
    Invitation,
    Mail,
    Member,
    Role,
    User,
)
from tenants.services import (
    Invited,
    accept_as_newcomer,
    accept_invitation,
    change_role,
    create_group,
    invite_member,
    offer_of,
    record_sign_in,
    resend_invitation,
    revoke_invitation,
    stop_tenant,
)
from tenants.services.mailing import send_mail
from tests.concurrency import together
from tests.factories import House, fresh_house, fresh_member, fresh_user, unique
from tests.tenants.post_office import PostOffice, html_of, text_of

PASSWORD = "a long and unlikely sentence"


@pytest.fixture
def office(settings: LazySettings) -> Iterator[PostOffice]:
    with PostOffice() as one:
        settings.MAILS, settings.MAILERS = True, one.mailers
        yield one


def somewhere() -> str:
    return f"new-{unique()}@example.test"


def invited(house: House, email: str, **given: Any) -> Invited:
    asked = {"role": Role.REVIEWER, "by": house.alice.id, **given}
    return invite_member(tenant_id=house.id, email=email, **asked)


def token(one: Invited) -> str:
    return one.link.rpartition("/")[2]


def path(one: Invited) -> str:
    return f"/invitations/{token(one)}"


def kinds(house: House) -> list[str]:
    with tenant_transaction(house.id):
        return list(Entry.objects.order_by("seq").values_list("kind", flat=True))


def members(house: House) -> set[str]:
    with tenant_transaction(house.id):
        return set(Member.objects.values_list("user__email", flat=True))


def browser(user: User | None = None) -> Client:
    client = Client()
    if user:
        client.force_login(user)
    return client


def refused(code: str, act: Any, *args: Any, **given: Any) -> None:
    with pytest.raises(Problem) as problem:
        act(*args, **given)
    assert problem.value.code == code


def a_minute_later(one: Invited) -> None:
    """Of the last letter."""
    with tenant_transaction(one.invitation.tenant_id):
        rows = Invitation.objects.filter(id=one.invitation.id)
        rows.update(sent_at=F("sent_at") - timedelta(minutes=1))


def mail_of(house: House, one: Invited) -> Mail:
    with tenant_transaction(house.id):
        rows = Mail.objects.filter(about=one.invitation.id)
        return rows.latest("created_at")


def test_nobody_is_a_member_before_they_accept(house: House) -> None:
    zoe = fresh_user("Zoe")
    one = invited(house, zoe.email.upper(), name="Z")
    assert zoe.email not in members(house)
    assert memberships(zoe) == []
    record_sign_in(memberships(house.bob.user)[0])  # somebody's elsewhere is not hers
    member = accept_invitation(token=token(one), user_id=zoe.id, name="Zoe Z")
    assert (member.name, member.role) == ("Zoe Z", Role.REVIEWER)
    assert [each.slug for each in memberships(zoe)] == [house.tenant.slug]
    zoe.refresh_from_db()
    assert zoe.name == "Zoe"  # what they are called elsewhere stays there
    assert {"invitation.sent", "invitation.accepted", "member.added"} <= {*kinds(house)}


def test_known_and_unknown_are_invited_alike(house: House) -> None:
    """The whole of what the inviter is told, but ids and the address itself."""
    known, unknown = fresh_user("Zoe").email, somewhere()
    told = [invited(house, email).invitation for email in (known, unknown)]
    different = {"_state", "id", "email", "link", "created_at"}
    different |= {"expires_at", "sent_at"}
    a, b = ({k: v for k, v in vars(one).items() if k not in different} for one in told)
    assert a == b
    assert not User.objects.filter(email=unknown).exists()
    pages = [browser().get(path(invited(fresh_house(), m))) for m in (known, unknown)]
    assert [one.status_code for one in pages] == [200, 200]
    assert ["Zoe" in one.content.decode() for one in pages] == [False, False]


def test_groups_come_with_it(house: House) -> None:
    treasury = create_group(tenant_id=house.id, by=house.alice.id, name="Treasury")
    zoe = fresh_user("Zoe")
    one = invited(house, zoe.email, groups=[treasury.id, house.reviewers.id])
    accept_invitation(token=token(one), user_id=zoe.id, name="Zoe")
    joined = set(zoe.groups.values_list("pk", flat=True))
    assert joined == {treasury.django_group_id, house.reviewers.django_group_id}
    strange = fresh_house().reviewers.id
    refused("not_found", invited, house, somewhere(), groups=[strange])


def test_a_newcomer_chooses_name_and_password(house: House) -> None:
    one = invited(house, somewhere(), name="New")
    client = browser()
    form = client.get(path(one)).context["form"]
    assert form["name"].value() == "New"
    said = {"act": "join", "name": "Nia", "password": PASSWORD}
    answer = client.post(path(one), said)
    assert answer.headers["Location"] == f"/t/{house.tenant.slug}/"
    assert client.get(f"/t/{house.tenant.slug}/queue").status_code == 200
    user = User.objects.get(email=one.invitation.email)
    assert user.check_password(PASSWORD)
    assert "member.signed_in" in kinds(house)


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({"password": "short"}, "password"),
        ({"password": "123456789012345"}, "password"),
        ({"name": ""}, "name"),
        ({"name": "\u202egnp"}, "name"),
    ],
)
def test_what_is_wrong_stands_beside_its_field(
    house: House, said: dict[str, str], field: str
) -> None:
    one = invited(house, somewhere())
    given = {"act": "join", "name": "Nia", "password": PASSWORD, **said}
    answer = browser().post(path(one), given)
    assert (answer.status_code, list(answer.context["form"].errors)) == (422, [field])
    assert not User.objects.filter(email=one.invitation.email).exists()
    assert offer_of(token(one))


def test_looking_accepts_nothing(house: House) -> None:
    zoe = fresh_user("Zoe")
    one = invited(house, zoe.email)
    for client in (browser(), browser(zoe)):
        for look in (client.get, client.head, client.post):
            assert look(path(one)).status_code == 200
    assert zoe.email not in members(house)


def test_who_is_signed_in_accepts_by_a_button(house: House) -> None:
    zoe = fresh_user("Zoe")
    one = invited(house, zoe.email)
    answer = browser(zoe).post(path(one), {"act": "accept", "name": "Zoe here"})
    assert answer.headers["Location"] == f"/t/{house.tenant.slug}/"
    assert zoe.email in members(house)


def test_it_is_for_the_invited_address_alone(house: House) -> None:
    one = invited(house, somewhere())
    charlie = house.charlie.user
    said = {"act": "accept", "name": "Charlie"}
    assert browser(charlie).post(path(one), said).status_code == 403
    taken = {"token": token(one), "user_id": charlie.id, "name": "Charlie"}
    refused("invitation_of_another", accept_invitation, **taken)
    assert charlie.email not in members(house)
    assert offer_of(token(one))  # and it still stands


def test_who_signs_in_here_already_is_sent_to_do_so(house: House) -> None:
    zoe = fresh_user("Zoe", password=PASSWORD)
    one = invited(house, zoe.email)
    said = {"act": "join", "name": "Zoe", "password": "another unlikely sentence"}
    answer = browser().post(path(one), said)
    assert (answer.status_code, "sign in and accept" in answer.content.decode()) == (
        422,
        True,
    )
    zoe.refresh_from_db()
    assert zoe.check_password(PASSWORD)
    to = browser().post(path(one), {"act": "enter"}).headers["Location"]
    assert to == f"/accounts/login/?next={path(one)}"


def test_a_link_works_once(house: House) -> None:
    one = invited(house, somewhere())
    said = {"token": token(one), "name": "Nia", "password": PASSWORD}
    accept_as_newcomer(**said)
    refused("invitation_ended", accept_as_newcomer, **said)
    assert browser().get(path(one)).status_code == 404


def test_of_many_at_once_one_joins(house: House) -> None:
    zoe = fresh_user("Zoe")
    said = {"token": token(invited(house, zoe.email)), "user_id": zoe.id, "name": "Z"}

    def accept() -> str:
        try:
            accept_invitation(**said)
        except Problem as problem:
            return problem.code
        return "in"

    answers = together(*[accept] * 4)
    assert sorted(map(str, answers)) == ["in", *["invitation_ended"] * 3]


def test_a_new_link_ends_the_former_one(house: House) -> None:
    former = invited(house, somewhere())
    here = {"tenant_id": house.id, "by": house.alice.id}
    a_minute_later(former)
    newer = resend_invitation(**here, invitation_id=former.invitation.id)
    assert newer.link != former.link
    refused("invitation_ended", offer_of, token(former))
    assert offer_of(token(newer)).email == former.invitation.email


def test_one_that_is_revoked_or_too_old_is_as_if_it_never_was(house: House) -> None:
    here = {"tenant_id": house.id, "by": house.alice.id}
    gone, old = invited(house, somewhere()), invited(house, somewhere())
    revoke_invitation(**here, invitation_id=gone.invitation.id)
    with tenant_transaction(house.id):
        assert not Invitation.objects.filter(id=gone.invitation.id).exists()
        rows = Invitation.objects.filter(id=old.invitation.id)
        rows.update(expires_at=old.invitation.created_at)
    pages = [browser().get(p) for p in (path(gone), path(old), "/invitations/x")]
    assert [one.status_code for one in pages] == [404] * 3
    refused("invitation_ended", offer_of, token(old))


def test_who_may_not_invite_any_more_has_nobody_come_in(house: House) -> None:
    ada = fresh_member(house.alice, "Ada", role=Role.ADMIN)
    one = invited(house, somewhere(), by=ada.id)
    here = {"tenant_id": house.id, "by": house.alice.id}
    change_role(**here, member_id=ada.id, role=Role.REVIEWER)
    said = {"token": token(one), "name": "Nia", "password": PASSWORD}
    refused("invitation_ended", accept_as_newcomer, **said)
    a_minute_later(one)
    mine = resend_invitation(**here, invitation_id=one.invitation.id)
    accept_as_newcomer(**{**said, "token": token(mine)})
    assert one.invitation.email in members(house)


def test_nobody_comes_into_a_stopped_tenant(house: House) -> None:
    one = invited(house, somewhere(), by=Operator.CONSOLE)
    member = invited(house, somewhere())
    stop_tenant(tenant_id=house.id, by=house.alice.id)
    said = {"token": token(member), "name": "Nia", "password": PASSWORD}
    refused("tenant_stopped", accept_as_newcomer, **said)
    refused("tenant_stopped", accept_as_newcomer, **{**said, "token": token(one)})
    assert {one.invitation.email, member.invitation.email}.isdisjoint(members(house))


def test_only_owners_ask_owners_in(house: House) -> None:
    ada = fresh_member(house.alice, "Ada", role=Role.ADMIN)
    asked = {"by": ada.id, "role": Role.OWNER}
    refused("not_permitted", invited, house, somewhere(), **asked)
    theirs = invited(house, somewhere(), role=Role.OWNER).invitation.id
    for verb in (resend_invitation, revoke_invitation):
        here = {"tenant_id": house.id, "by": ada.id, "invitation_id": theirs}
        refused("not_permitted", verb, **here)


def test_twice_is_refused_and_says_how(house: House) -> None:
    refused("already_so", invited, house, house.bob.user.email)
    email = somewhere()
    invited(house, email)
    refused("already_invited", invited, house, email)
    invited(fresh_house(), email)  # elsewhere nobody knows of it


def test_another_tenants_invitation_does_not_exist(house: House) -> None:
    one = invited(house, somewhere()).invitation.id
    theirs = {"tenant_id": house.charlie.member.tenant_id, "by": house.charlie.id}
    for verb in (resend_invitation, revoke_invitation):
        refused("not_found", verb, **theirs, invitation_id=one)


def test_the_link_is_in_no_table(house: House) -> None:
    one = invited(house, somewhere())
    with tenant_transaction(house.id):
        row = Invitation.objects.values().get(id=one.invitation.id)
        entries = str(list(Entry.objects.values_list("data", flat=True)))
    assert token(one) not in str(row)
    assert one.invitation.email not in entries


def test_it_is_mailed_and_the_admin_is_shown_no_link(
    house: House, office: PostOffice
) -> None:
    one = invited(house, somewhere(), name="<b>Nia</b>")
    assert one.link == ""
    assert send_mail(mail_of(house, one).id) == "sent"
    (letter,) = office.to(one.invitation.email)
    found = re.findall(r"https?://\S+/invitations/[\w-]+", text_of(letter))
    assert len(found) == 1
    assert found[0] in html_of(letter)
    client = browser()
    said = {"act": "join", "name": "Nia", "password": PASSWORD}
    answer = client.post(f"/invitations/{found[0].rpartition('/')[2]}", said)
    assert answer.headers["Location"] == f"/t/{house.tenant.slug}/"


def test_one_that_was_revoked_meanwhile_is_not_mailed(
    house: House, office: PostOffice
) -> None:
    one = invited(house, somewhere())
    mail = mail_of(house, one).id
    here = {"tenant_id": house.id, "by": house.alice.id}
    revoke_invitation(**here, invitation_id=one.invitation.id)
    assert send_mail(mail) == "dropped"
    assert office.letters == []


def test_where_no_mail_is_sent_nothing_waits(house: House) -> None:
    one = invited(house, somewhere())
    with tenant_transaction(house.id):
        assert not Mail.objects.filter(about=one.invitation.id).exists()
