"""Who is let in that is new, and who comes back: on purpose, and by nobody's mistake."""

from typing import Any

import pytest
from django.contrib.sessions.models import Session

from audit.models import Entry
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from tenants.checks import Operator
from tenants.models import ExternalIdentity, Member, Role, SingleSignOn
from tenants.queries import addresses_of
from tenants.services import change_role, deactivate_member, stop_tenant
from tenants.services.entering import Told, connect, disconnect, enter
from tenants.services.join_links import make_join_link
from tenants.services.single_sign_on import configure
from tests.checkpoints.tampering import superuser_says
from tests.factories import House, fresh_house, fresh_member
from tests.oversight.sso.journey import arrive, queue_of, set_up
from tests.oversight.sso.provider import Provider


@pytest.fixture
def house() -> House:
    return fresh_house()


def identities(house: House) -> list[ExternalIdentity]:
    with tenant_transaction(house.id):
        return list(ExternalIdentity.objects.order_by("id"))


def link_of(house: House, by: Any = Operator.CONSOLE) -> str:
    return make_join_link(tenant_id=house.id, by=by, name="Nora", role=Role.REVIEWER)


def enters(house: House, provider: Provider, link: str = "") -> str:
    """The code of the refusal; nothing for whoever is in."""
    _, answer = arrive(house, provider, rest=f"?link={link}" if link else "")
    return "" if answer.status_code == 302 else str(answer.context["problem"].code)


def end(house: House, identity: ExternalIdentity) -> None:
    disconnect(
        tenant_id=house.id,
        by=house.alice.id,
        member_id=identity.member_id,
        identity_id=identity.id,
    )


def mail_reaches(house: House, identity: ExternalIdentity) -> str:
    with tenant_transaction(house.id):
        member = Member.objects.select_related("user").get(id=identity.member_id)
        return addresses_of([member])[member.id]


def test_whoever_was_disconnected_is_nobody_new(
    house: House, provider: Provider
) -> None:
    """Not as they are, not under another subject; and as who they were, by a link."""
    set_up(house, provider)
    provider.signs_in("nora-1", name="Nora", email="nora@example.com")
    browser, _ = arrive(house, provider)
    (identity,) = identities(house)
    kept = Session.objects.get(session_key=browser.cookies["keyturn_session"].value)
    assert mail_reaches(house, identity) == "nora@example.com"
    end(house, identity)
    assert mail_reaches(house, identity) == ""
    assert enters(house, provider) == "sso.disconnected"
    kept.save(force_insert=True)  # also where its session outlived it
    assert browser.get(queue_of(house)).status_code == 404
    provider.signs_in("nora-2", name="Nora", email="NORA@example.com")
    assert enters(house, provider) == "sso.account_exists"
    provider.signs_in("nora-1", name="Nora", email="nora@example.com")
    assert enters(house, provider, link_of(house)) == ""
    (again,) = identities(house)
    assert (again.id, again.member_id) == (identity.id, identity.member_id)
    assert again.ended_at is None
    with tenant_transaction(house.id):
        kinds = list(Entry.objects.values_list("kind", flat=True))
        assert kinds.count("member.added") == Member.objects.count()
    assert kinds.count("member.identity_added") == 2


def test_a_link_leads_back_to_nobody_whom_its_maker_may_not_touch(
    house: House, provider: Provider
) -> None:
    set_up(house, provider)
    ada = fresh_member(house.alice, "Ada", role=Role.ADMIN)
    told = Told(issuer=provider.issuer, subject="alice-1")
    connect(tenant_id=house.id, member_id=house.alice.id, told=told)
    end(house, identities(house)[0])
    provider.signs_in("alice-1")
    assert enters(house, provider, link_of(house, ada.id)) == "sso.link_dead"
    assert enters(house, provider, link_of(house, house.alice.id)) == ""


def test_who_is_disconnected_connects_again_and_so_may_another(
    house: House, provider: Provider
) -> None:
    set_up(house, provider)
    told = Told(issuer=provider.issuer, subject="nora-1")
    for member, other in (
        (house.bob, house.alice),
        (house.alice, house.bob),
        (house.bob, house.alice),
    ):
        connect(tenant_id=house.id, told=told, member_id=member.id)
        with pytest.raises(Problem, match="already_so"):
            connect(tenant_id=house.id, told=told, member_id=other.id)
        (live,) = [one for one in identities(house) if one.ended_at is None]
        assert live.member_id == member.id
        end(house, live)
    assert len(identities(house)) == 2


def demote(**given: Any) -> None:
    change_role(**given, role=Role.REVIEWER)


@pytest.mark.parametrize("how", [deactivate_member, demote])
def test_a_link_is_worth_what_its_maker_is(
    how: Any, house: House, provider: Provider
) -> None:
    set_up(house, provider, admits=False)
    provider.signs_in("nora-1")
    ada = fresh_member(house.alice, "Ada", role=Role.ADMIN)
    link = link_of(house, ada.id)
    how(tenant_id=house.id, by=house.alice.id, member_id=ada.id)
    assert enters(house, provider, link) == "sso.link_dead"
    assert enters(house, provider, link_of(house, house.alice.id)) == ""


@pytest.mark.parametrize("column", ["revoked_at", "expires_at"])
def test_a_link_that_is_revoked_or_old_opens_nothing(
    column: str, house: House, provider: Provider
) -> None:
    set_up(house, provider, admits=False)
    provider.signs_in("nora-1")
    link = link_of(house)
    superuser_says(
        f"update tenants_joinlink set {column} = clock_timestamp()"
        f" where tenant_id = '{house.id}'"
    )
    assert enters(house, provider, link) == "sso.link_dead"
    assert identities(house) == []


def test_a_stopped_tenant_lets_its_own_in_and_nobody_new(
    house: House, provider: Provider
) -> None:
    set_up(house, provider)
    provider.signs_in("nora-1")
    arrive(house, provider)
    link = link_of(house)
    stop_tenant(tenant_id=house.id, by=house.alice.id)
    assert enters(house, provider) == ""
    provider.signs_in("mallory-1")
    assert enters(house, provider) == "tenant_stopped"
    assert enters(house, provider, link) == "tenant_stopped"
    assert len(identities(house)) == 1


def test_where_anybody_has_an_account_only_links_let_in(house: House) -> None:
    """Also where it was set up so before."""
    told = Told(issuer="https://accounts.google.com", subject="nora-1")
    configure(
        tenant_id=house.id,
        by=Operator.CONSOLE,
        issuer=told.issuer,
        client_id="keyturn",
        secret="s",
    )
    with tenant_transaction(house.id):
        SingleSignOn.objects.update(admits=True)
    with pytest.raises(Problem, match="not_invited"):
        enter(tenant_id=house.id, told=told)
    enter(tenant_id=house.id, told=told, link=link_of(house))
