"""The pages before a tenant, and the door of the pages within one."""

import re
from threading import Barrier, Thread
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.db import connections
from django.http import Http404, HttpRequest, HttpResponse
from django.test import Client, RequestFactory

from audit.models import Entry
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from tenants import views
from tenants.access import ADMINISTRATORS
from tenants.authentication import authenticate_key
from tenants.models import Group, Tenant, User
from tenants.pages import MemberRequest, member_page
from tenants.services import add_member, deactivate_member, first_run, tenancy
from tests.factories import House, fresh_tenant, fresh_user, unique

pytestmark = pytest.mark.urls("tests.tenants.doors")
PASSWORD = "correct-horse-battery"


def answers() -> dict[str, str]:
    word = unique()
    return {
        "code": settings.SETUP_CODE,
        "tenant": f"Acme & {word}",
        "name": "Alice",
        "email": f"Alice-{word}@Example.test",
        "password": PASSWORD,
    }


@pytest.fixture
def nothing_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests' database is never empty; the question whether it is, is asked here."""
    monkeypatch.setattr(views, "any_tenant", lambda: False)
    monkeypatch.setattr(tenancy, "any_tenant", lambda: False)


# -- First run --------------------------------------------------------------------------


@pytest.mark.usefixtures("nothing_yet")
def test_an_empty_installation_leads_to_its_first_run() -> None:
    assert Client().get("/").headers["Location"] == "/start"
    page = Client().get("/start")
    assert page.status_code == 200
    for field in ("code", "tenant", "name", "email", "password"):
        assert f'name="{field}"' in page.text


@pytest.mark.usefixtures("nothing_yet")
def test_the_first_run_makes_all_of_it_and_signs_in() -> None:
    browser, given = Client(), answers()
    page = browser.post("/start", given)
    assert page.status_code == 200
    assert "no-store" in page["Cache-Control"]
    key = re.search(r"kt_production_\w+", page.text)
    assert key is not None
    principal = authenticate_key(f"Bearer {key[0]}")
    with tenant_transaction(principal.tenant_id):
        tenant = Tenant.objects.get()
        assert tenant.name == given["tenant"]
        assert tenant.solo
        assert Group.objects.get().name == "Reviewers"
        kinds = set(Entry.objects.values_list("kind", flat=True))
    assert {"tenant.created", "member.added", "agent.created", "key.issued"} <= kinds
    assert browser.get("/").headers["Location"] == f"/t/{tenant.slug}/"
    assert PASSWORD not in page.text
    assert User.objects.get(email=given["email"].lower()).check_password(PASSWORD)


@pytest.mark.usefixtures("nothing_yet")
@pytest.mark.parametrize(
    "flaw",
    [
        {"code": ""},
        {"code": "0123456789abcdef"},
        {"tenant": ""},
        {"email": "alice"},
        {"password": "short"},
        {"password": "123456789012"},
        {"password": "a" * 1001},
        {"name": "A\u202elice"},
    ],
)
def test_a_first_run_with_a_flaw_makes_nothing(flaw: dict[str, str]) -> None:
    given = {**answers(), **flaw}
    page = Client().post("/start", given)
    assert page.status_code == 200
    assert "kt_production_" not in page.text
    assert not User.objects.filter(email=given["email"].lower()).exists()


def test_a_first_run_needs_a_csrf_token(nothing_yet: None) -> None:
    assert Client(enforce_csrf_checks=True).post("/start", answers()).status_code == 403


def test_once_there_is_a_tenant_the_first_run_does_not_exist(house: House) -> None:
    given = answers()
    assert Client().get("/start").status_code == 404
    assert Client().post("/start", given).status_code == 404
    assert not User.objects.filter(email=given["email"].lower()).exists()


@pytest.mark.usefixtures("nothing_yet")
@pytest.mark.parametrize(("known", "told"), [("a" * 16, "b" * 16), ("", "")])
def test_the_verb_itself_asks_for_the_code(
    monkeypatch: pytest.MonkeyPatch, known: str, told: str
) -> None:
    monkeypatch.setattr(settings, "SETUP_CODE", known)
    given = {**answers(), "slug": f"acme-{unique()}", "code": told}
    given["tenant_name"] = given.pop("tenant")
    with pytest.raises(Problem) as problem:
        first_run(**given)
    assert problem.value.code == "wrong_setup_code"
    assert not User.objects.filter(email=given["email"].lower()).exists()


def test_the_verb_itself_refuses_a_second_first_run(house: House) -> None:
    with pytest.raises(Problem) as problem:
        first_run(
            code=settings.SETUP_CODE,
            slug=f"acme-{unique()}",
            tenant_name="Acme",
            email=f"{unique()}@example.test",
            name="Alice",
            password=PASSWORD,
        )
    assert problem.value.code == "not_first"


def test_of_two_first_runs_at_once_one_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both find the installation empty, unless the second waits for the first."""
    tag = unique()
    monkeypatch.setattr(
        tenancy,
        "any_tenant",
        lambda: User.objects.filter(email__startswith=tag).exists(),
    )
    start, outcomes = Barrier(4), []

    def run(number: int) -> None:
        start.wait()
        try:
            first_run(
                code=settings.SETUP_CODE,
                slug=f"race-{tag}-{number}",
                tenant_name="Race",
                email=f"{tag}-{number}@example.test",
                name="Racer",
                password=PASSWORD,
            )
            outcomes.append("first")
        except Problem as problem:
            outcomes.append(problem.code)
        finally:
            connections.close_all()

    threads = [Thread(target=run, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["first"] + ["not_first"] * 3


# -- Choosing a tenant ------------------------------------------------------------------


def test_whoever_is_not_signed_in_signs_in_first(house: House) -> None:
    assert Client().get("/").headers["Location"] == "/accounts/login/?next=/"


def test_the_only_tenant_is_not_asked_for(house: House) -> None:
    page = house.bob.browser().get("/")
    assert page.headers["Location"] == f"/t/{house.tenant.slug}/"


def test_of_several_tenants_one_is_chosen(house: House) -> None:
    other, owner, _ = fresh_tenant("Olga")
    add_member(
        tenant_id=other.id,
        by=owner.id,
        user_id=house.bob.user.id,
        role=house.bob.member.role,
    )
    page = house.bob.browser().get("/")
    assert f'href="/t/{other.slug}/"' in page.text
    assert f'href="/t/{house.tenant.slug}/"' in page.text
    assert house.charlie.user.name not in page.text


def test_someone_of_no_tenant_is_told_so(house: House) -> None:
    browser = Client()
    browser.force_login(fresh_user("Nobody"))
    page = browser.get("/")
    assert page.status_code == 200
    assert "/t/" not in page.text


# -- A member's page --------------------------------------------------------------------


@member_page
def page(request: MemberRequest, **kwargs: Any) -> HttpResponse:
    return HttpResponse(f"{request.member.member_id} {request.person.member_id}")


@member_page
async def later(request: MemberRequest, **kwargs: Any) -> HttpResponse:
    return HttpResponse(f"{request.member.member_id} {request.person.member_id}")


@member_page(roles=ADMINISTRATORS)
def administration(request: MemberRequest) -> HttpResponse:
    return HttpResponse("administration")


def visit(view: Any, user: Any, slug: str) -> HttpResponse:
    request: HttpRequest = RequestFactory().get(f"/t/{slug}/page?x=1")
    request.user = user
    request.session = {}  # type: ignore[assignment]
    answer: HttpResponse = view(request, slug=slug)
    return answer


both = pytest.mark.parametrize(
    "view", [page, async_to_sync(later)], ids=["sync", "async"]
)


@both
def test_a_member_is_let_in_and_nothing_is_cached(view: Any, house: House) -> None:
    answer = visit(view, house.bob.user, house.tenant.slug)
    assert answer.text == f"{house.bob.id} {house.bob.id}"
    assert "no-store" in answer["Cache-Control"]


@both
def test_a_stranger_finds_nothing(view: Any, house: House) -> None:
    for slug in (house.tenant.slug, "no-such-tenant"):
        with pytest.raises(Http404):
            visit(view, house.charlie.user, slug)


@both
def test_nobody_signs_in_first_whether_or_not_there_is_a_tenant(
    view: Any, house: House
) -> None:
    for slug in (house.tenant.slug, "no-such-tenant"):
        answer = visit(view, AnonymousUser(), slug)
        assert answer["Location"] == f"/accounts/login/?next=/t/{slug}/page%3Fx%3D1"


@both
def test_a_member_who_was_deactivated_finds_nothing(view: Any, house: House) -> None:
    deactivate_member(tenant_id=house.id, by=house.alice.id, member_id=house.bob.id)
    with pytest.raises(Http404):
        visit(view, house.bob.user, house.tenant.slug)


def test_a_page_for_administrators_is_for_them(house: House) -> None:
    answer = visit(administration, house.alice.user, house.tenant.slug)
    assert answer.text == "administration"
    with pytest.raises(PermissionDenied):
        visit(administration, house.bob.user, house.tenant.slug)
    with pytest.raises(Http404):
        visit(administration, house.charlie.user, house.tenant.slug)


# -- Signing in -------------------------------------------------------------------------


def sign_in(user: User, password: str) -> tuple[Client, Any]:
    browser = Client()
    return browser, browser.post(
        "/accounts/login/", {"login": user.email, "password": password}
    )


def test_signing_in_is_on_the_record_of_each_tenant() -> None:
    tenant, alice, _ = fresh_tenant()
    alice.user.set_password(PASSWORD)
    alice.user.save(update_fields=["password"])
    browser, answer = sign_in(alice.user, PASSWORD)
    assert answer.headers["Location"] == "/"
    with tenant_transaction(tenant.id):
        entry = Entry.objects.get(kind="member.signed_in")
    assert (entry.actor_id, entry.subject_id) == (str(alice.id), alice.id)
    assert browser.get("/").headers["Location"] == f"/t/{tenant.slug}/"


def test_signing_in_leaves_no_word_for_a_later_page() -> None:
    _, alice, _ = fresh_tenant()
    alice.user.set_password(PASSWORD)
    alice.user.save(update_fields=["password"])
    browser, _ = sign_in(alice.user, PASSWORD)
    assert "Successfully" not in browser.get("/nothing-here").content.decode()


def test_a_wrong_password_signs_nobody_in() -> None:
    tenant, alice, _ = fresh_tenant()
    alice.user.set_password(PASSWORD)
    alice.user.save(update_fields=["password"])
    _, answer = sign_in(alice.user, "another-horse")
    assert answer.status_code == 200
    with tenant_transaction(tenant.id):
        assert not Entry.objects.filter(kind="member.signed_in").exists()


def test_a_sign_in_says_how_and_when() -> None:
    tenant, alice, _ = fresh_tenant()
    alice.user.set_password(PASSWORD)
    alice.user.save(update_fields=["password"])
    browser, _ = sign_in(alice.user, PASSWORD)
    request = RequestFactory().get("/")
    request.user = alice.user
    request.session = browser.session

    @member_page
    def look(request: MemberRequest) -> HttpResponse:
        assert request.person.methods == ("password",)
        assert request.person.authenticated_ago is not None
        return HttpResponse()

    assert look(request, slug=tenant.slug).status_code == 200


def test_nobody_signs_up() -> None:
    email = f"{unique()}@example.test"
    Client().post("/accounts/signup/", {"email": email, "password1": PASSWORD})
    assert not User.objects.filter(email=email).exists()
