"""Invitations of who is known here already; and when one is sent, again, and how long."""

from datetime import timedelta
from typing import Any

import pytest

from kernel.clock import database_now
from kernel.scope import tenant_transaction
from tenants.models import ExternalIdentity, Invitation
from tenants.services import (
    accept_invitation,
    invite_guest,
    inviting,
    offer_of,
    resend_invitation,
    revoke_invitation,
)
from tenants.services.mailing import resend_mail, send_mail
from tests.checkpoints.tampering import tamper
from tests.factories import House, fresh_house, fresh_user
from tests.tenants.post_office import PostOffice
from tests.tenants.test_invitations import (
    a_minute_later,
    invited,
    mail_of,
    office,
    refused,
    somewhere,
    token,
)

__all__ = ["office"]  # a fixture


def identified(house: House, email: str, **more: Any) -> None:
    """Bob enters by a provider that calls his address so."""
    with tenant_transaction(house.id):
        ExternalIdentity.objects.create(
            tenant_id=house.id,
            issuer="https://id.example",
            subject="bob-1",
            member=house.bob.member,
            email=email,
            **more,
        )


@pytest.mark.parametrize("ended", [False, True])
def test_whom_the_provider_knows_by_this_address_is_known(
    house: House, ended: bool
) -> None:
    """Also where they came by it after they were invited, or were disconnected since."""
    zoe = fresh_user("Zoe")
    said = {"token": token(invited(house, zoe.email)), "user_id": zoe.id, "name": "Z"}
    when = database_now() if ended else None
    identified(house, zoe.email.upper(), ended_at=when)
    refused("already_so", accept_invitation, **said)
    here = {"tenant_id": house.id, "by": house.alice.id}
    with tenant_transaction(house.id):
        one = Invitation.objects.get(email=zoe.email)
    revoke_invitation(**here, invitation_id=one.id)
    refused("already_so", invited, house, zoe.email)
    invited(fresh_house(), zoe.email)  # elsewhere nobody is told of it


def test_a_guest_is_invited_for_no_longer_than_they_stay(house: House) -> None:
    here = {"tenant_id": house.id, "by": house.alice.id}
    for days, is_cut in ((2, True), (30, False)):
        one = invite_guest(**here, email=somewhere(), days=days).invitation
        assert one.until is not None
        assert (one.expires_at == one.until) is is_cut
        assert one.expires_at - one.sent_at <= timedelta(days=7)


def test_an_invitation_is_sent_again_once_a_minute(house: House) -> None:
    here = {"tenant_id": house.id, "by": house.alice.id}
    one = invited(house, somewhere())
    other = invited(house, somewhere())
    again = {**here, "invitation_id": one.invitation.id}
    refused("invitation_too_soon", resend_invitation, **again)
    assert offer_of(token(one))  # and the link that they have opens it still
    a_minute_later(one)
    resend_invitation(**again)
    refused("invitation_too_soon", resend_invitation, **again)
    a_minute_later(other)
    resend_invitation(**{**again, "invitation_id": other.invitation.id})


def test_an_invitation_to_a_time_that_is_over_is_not_sent_again(house: House) -> None:
    here = {"tenant_id": house.id, "by": house.alice.id}
    one = invite_guest(**here, email=somewhere(), days=1)
    tamper("tenants_invitation", "until = created_at", one.invitation.id)
    a_minute_later(one)
    again = {**here, "invitation_id": one.invitation.id}
    refused("invitation_over", resend_invitation, **again)


def test_nobody_is_flooded_with_letters(
    house: House, office: PostOffice, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By revoking and inviting anew: the address is forgotten, and the letters are not."""
    monkeypatch.setattr(inviting, "MOST_AN_HOUR", 2)
    here = {"tenant_id": house.id, "by": house.alice.id}
    victim = somewhere()
    for _ in range(2):
        one = invited(house, victim)
        assert send_mail(mail_of(house, one).id) == "sent"
        revoke_invitation(**here, invitation_id=one.invitation.id)
    refused("invitations_too_many", invited, house, victim)
    assert len(office.to(victim)) == 2
    invited(fresh_house(), victim)  # a tenant's own


def test_a_letter_that_was_sent_is_not_sent_again(
    house: House, office: PostOffice
) -> None:
    one = invited(house, somewhere())
    mail = mail_of(house, one).id
    assert send_mail(mail) == "sent"
    again = {"tenant_id": house.id, "by": house.alice.id, "mail_id": mail}
    refused("already_so", resend_mail, **again)
    assert send_mail(mail) == ""
    assert len(office.to(one.invitation.email)) == 1
