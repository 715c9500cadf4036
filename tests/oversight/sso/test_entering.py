"""Entering by a tenant's provider: that tenant, as that member, while it may."""

from typing import Any

import pytest
from django.test import Client

from audit.models import Entry
from kernel.scope import tenant_transaction
from tenants.checks import Operator
from tenants.models import ExternalIdentity, Group, Member, Role, User
from tenants.services import add_member, create_group, deactivate_member
from tenants.services.join_links import make_join_link
from tenants.services.single_sign_on import (
    allow_passwords,
    end_single_sign_on,
    map_group,
    refuse_passwords,
)
from tests.factories import House, fresh_house
from tests.oversight.sso.journey import (
    address_of,
    arrive,
    local,
    question,
    queue_of,
    set_up,
)
from tests.oversight.sso.provider import Provider
from tests.tenants.second_factors import signed_in, with_password


@pytest.fixture
def house() -> House:
    return fresh_house()


def identities(house: House) -> list[ExternalIdentity]:
    with tenant_transaction(house.id):
        rows = ExternalIdentity.objects.select_related("member__user").order_by("id")
        return list(rows)


def kinds(house: House) -> list[str]:
    with tenant_transaction(house.id):
        return list(Entry.objects.order_by("seq").values_list("kind", flat=True))


def test_whoever_is_new_becomes_a_member_and_is_in(
    house: House, provider: Provider
) -> None:
    set_up(house, provider)
    provider.signs_in("nora-1", name="Nora Lind", email="Nora@example.com")
    browser, answer = arrive(house, provider, rest=f"?next={queue_of(house)}")
    assert answer.headers["Location"] == queue_of(house)
    assert browser.get(queue_of(house)).status_code == 200
    (identity,) = identities(house)
    assert (identity.member.user.name, identity.member.role) == (
        "Nora Lind",
        "reviewer",
    )
    assert identity.email == "nora@example.com"
    assert identity.member.user.email.endswith("@sso.invalid")
    assert kinds(house)[-3:] == [
        "member.added",
        "member.identity_added",
        "member.signed_in",
    ]


def test_the_same_identity_is_the_same_member_the_next_time(
    house: House, provider: Provider
) -> None:
    set_up(house, provider)
    provider.signs_in("nora-1", name="Nora")
    arrive(house, provider)
    arrive(house, provider)
    assert len(identities(house)) == 1


def test_an_identity_enters_its_tenant_and_no_other(
    house: House, provider: Provider
) -> None:
    """Also with the same issuer, client, subject and e-mail address."""
    other = fresh_house()
    set_up(house, provider)
    set_up(other, provider, admits=False)
    provider.signs_in("nora-1", email="nora@example.com")
    browser, _ = arrive(house, provider)
    assert browser.get(queue_of(other)).status_code == 404
    _, answer = arrive(other, provider)
    assert (answer.status_code, identities(other)) == (403, [])
    set_up(other, provider)
    elsewhere, _ = arrive(other, provider)
    assert elsewhere.get(queue_of(other)).status_code == 200
    assert elsewhere.get(queue_of(house)).status_code == 404
    assert identities(other)[0].member.user_id != identities(house)[0].member.user_id


def test_an_answer_for_another_tenant_is_refused(
    house: House, provider: Provider
) -> None:
    other = fresh_house()
    set_up(house, provider)
    set_up(other, provider)
    provider.signs_in("nora-1")
    browser = Client()
    came_back = local(provider.answers(question(browser, address_of(house))))
    moved = came_back.replace(house.tenant.slug, other.tenant.slug)
    assert browser.get(moved).status_code == 400
    assert browser.get(came_back).status_code == 400  # and its state is used up
    assert not identities(house)
    assert not identities(other)


def test_a_local_account_of_the_same_address_is_not_touched(
    house: House, provider: Provider
) -> None:
    set_up(house, provider)
    provider.signs_in("bob-1", email=house.bob.user.email)
    _, answer = arrive(house, provider)
    assert answer.status_code == 409
    assert "connect it with single sign-on" in answer.content.decode()
    assert not identities(house)


def test_an_address_that_is_known_elsewhere_is_neither_linked_nor_told(
    house: House, provider: Provider
) -> None:
    set_up(house, provider)
    provider.signs_in("charlie-1", email=house.charlie.user.email)
    browser, answer = arrive(house, provider)
    assert answer.status_code == 302
    assert browser.get(queue_of(house)).status_code == 200
    charlies = f"/t/{house.charlie.slug}/queue"
    assert browser.get(charlies).status_code == 404
    assert identities(house)[0].member.user_id != house.charlie.user.id


def test_whoever_is_not_invited_stays_outside_and_a_link_lets_one_in(
    house: House, provider: Provider
) -> None:
    set_up(house, provider, admits=False)
    provider.signs_in("nora-1", name="Calls herself something")
    _, answer = arrive(house, provider)
    assert (answer.status_code, identities(house)) == (403, [])
    link = make_join_link(
        tenant_id=house.id, by=Operator.CONSOLE, name="Nora", role=Role_("reviewer")
    )
    browser, answer = arrive(house, provider, rest=f"?link={link}")
    assert browser.get(queue_of(house)).status_code == 200
    assert identities(house)[0].member.user.name == "Nora"
    provider.signs_in("mallory-1")
    _, answer = arrive(house, provider, rest=f"?link={link}")
    assert (answer.status_code, len(identities(house))) == (410, 1)


def Role_(name: str) -> Any:
    from tenants.models import Role

    return Role(name)


def groups_of(user: User) -> set[Any]:
    return set(user.groups.values_list("id", flat=True))


def test_mapped_groups_are_given_and_taken_and_others_stay(
    house: House, provider: Provider
) -> None:
    set_up(house, provider)
    mapped = house.reviewers
    kept = create_group(tenant_id=house.id, by=house.alice.id, name="Kept")
    map_group(tenant_id=house.id, by=house.alice.id, value="payers", group_id=mapped.id)
    provider.signs_in("nora-1", groups=["payers", "owners", "admin"])
    arrive(house, provider)
    nora = identities(house)[0].member
    assert groups_of(nora.user) == {mapped.django_group_id}
    assert nora.role == "reviewer"
    _put(house, kept, nora)
    provider.signs_in("nora-1", groups="others")
    arrive(house, provider)
    assert groups_of(nora.user) == {kept.django_group_id}
    provider.signs_in("nora-1")  # no claim at all gives nothing
    arrive(house, provider)
    assert groups_of(nora.user) == {kept.django_group_id}
    assert kinds(house).count("group.member_removed") == 1


def _put(house: House, group: Group, member: Member) -> None:
    from tenants.services import add_to_group

    add_to_group(
        tenant_id=house.id, by=house.alice.id, group_id=group.id, member_id=member.id
    )


def test_sessions_end_with_the_membership(house: House, provider: Provider) -> None:
    set_up(house, provider)
    provider.signs_in("nora-1")
    browser, _ = arrive(house, provider)
    nora = identities(house)[0].member
    deactivate_member(tenant_id=house.id, by=house.alice.id, member_id=nora.id)
    assert (
        browser.get(queue_of(house)).headers["Location"].startswith("/accounts/login")
    )
    _, answer = arrive(house, provider)
    assert answer.status_code == 403
    assert "sso.member_ended" in answer.content.decode()


def test_sessions_end_with_single_sign_on(house: House, provider: Provider) -> None:
    set_up(house, provider)
    provider.signs_in("nora-1")
    browser, _ = arrive(house, provider)
    end_single_sign_on(tenant_id=house.id, by=house.alice.id)
    assert (
        browser.get(queue_of(house)).headers["Location"].startswith("/accounts/login")
    )
    assert Client().get(address_of(house)).status_code == 404


def test_an_identity_of_a_former_issuer_opens_nothing(
    house: House, provider: Provider
) -> None:
    """Also where its session outlived the change."""
    set_up(house, provider)
    provider.signs_in("nora-1")
    browser, _ = arrive(house, provider)
    kept = browser.cookies["keyturn_session"].value
    from django.contrib.sessions.models import Session

    row = Session.objects.get(session_key=kept)
    set_up(house, provider, issuer=f"{provider.issuer}/other")
    row.save(force_insert=True)
    assert browser.get(queue_of(house)).status_code == 404


def test_whoever_came_so_cannot_change_what_guards_the_account(
    house: House, provider: Provider
) -> None:
    set_up(house, provider)
    provider.signs_in("nora-1")
    browser, _ = arrive(house, provider)
    for page in (
        "2fa/",
        "2fa/totp/activate/",
        "2fa/webauthn/add/",
        "password/change/",
        "password/set/",
        "reauthenticate/",
    ):
        assert browser.get(f"/accounts/{page}").status_code == 403, page
    assert browser.get("/accounts/devices/").status_code == 200


def test_a_member_connects_their_own_account(house: House, provider: Provider) -> None:
    set_up(house, provider, admits=False)
    bob = with_password(house.bob.user)
    provider.signs_in("bob-1", email=bob.email)
    browser = signed_in(bob)
    page = address_of(house, "/connect")
    asked = browser.get(page)
    assert asked.status_code == 302  # first the password again
    again = browser.post(
        f"/accounts/reauthenticate/?next={page}",
        {"password": "correct horse battery staple"},
    )
    assert again.headers["Location"] == page
    html = browser.post(page).content.decode()
    href = html.partition('href="http')[2].partition('"')[0]
    from html import unescape

    came_back = provider.answers(unescape(f"http{href}"))
    assert "Done" in browser.get(local(came_back)).content.decode()
    entered, _ = arrive(house, provider)
    assert entered.get(queue_of(house)).status_code == 200
    assert identities(house)[0].member.id == house.bob.id


def test_a_provider_is_not_told_where_else_somebody_is(
    house: House, provider: Provider
) -> None:
    """Nor are those who run it, who can be whoever is connected to it, in this tenant."""
    other = fresh_house()
    set_up(house, provider)
    bob = with_password(house.bob.user)
    add_member(
        tenant_id=other.id, by=other.alice.id, user_id=bob.id, role=Role.REVIEWER
    )
    with tenant_transaction(house.id):
        ExternalIdentity.objects.create(
            tenant_id=house.id,
            issuer=provider.issuer,
            subject="bob-1",
            member=house.bob.member,
        )
    provider.signs_in("bob-1")
    entered, _ = arrive(house, provider)
    assert "Switch tenant" not in entered.get(queue_of(house)).content.decode()
    assert "Switch tenant" in signed_in(bob).get(queue_of(house)).content.decode()


def test_where_passwords_are_refused_only_the_provider_leads_in(
    house: House, provider: Provider
) -> None:
    set_up(house, provider)
    alice = with_password(house.alice.user)
    with tenant_transaction(house.id):
        identity = ExternalIdentity.objects.create(
            tenant_id=house.id,
            issuer=provider.issuer,
            subject="alice-1",
            member=house.alice.member,
        )
    browser = signed_in(alice)
    assert browser.get(queue_of(house)).status_code == 200
    refuse_passwords(tenant_id=house.id, by=house.alice.id, through=identity.id)
    led = browser.get(queue_of(house))
    assert led.headers["Location"].startswith(address_of(house))
    assert house.tenant.slug in browser.get("/").content.decode()
    provider.signs_in("alice-1")
    entered, _ = arrive(house, provider)
    assert entered.get(queue_of(house)).status_code == 200
    allow_passwords(tenant_id=house.id, by=Operator.CONSOLE)
    assert browser.get(queue_of(house)).status_code == 200


@pytest.mark.parametrize("rest", ["", "/callback", "/prove", "/connect"])
def test_without_a_provider_there_is_no_such_address(rest: str, house: House) -> None:
    """For a tenant that exists, and for one that does not."""
    browser = house.bob.browser() if rest == "/prove" else Client()
    known = browser.get(address_of(house, rest))
    if rest == "/connect":
        assert known.status_code == 302
        return
    if rest == "/callback":
        assert known.status_code == 400
        return
    assert known.status_code == 404


def test_a_provider_is_known_by_its_own_page(house: House, provider: Provider) -> None:
    set_up(house, provider)
    found = Client().get("/accounts/sso/", {"slug": house.tenant.slug, "next": "/t/x/"})
    assert f"{address_of(house)}?next=%2Ft%2Fx%2F" in found.content.decode()
    unknown = Client().get("/accounts/sso/", {"slug": house.charlie.slug})
    assert (
        unknown.status_code,
        "No tenant of that name" in unknown.content.decode(),
    ) == (
        404,
        True,
    )
