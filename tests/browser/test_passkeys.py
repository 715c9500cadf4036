"""A passkey in a real browser, with a virtual authenticator: added, asked for, recorded."""

import pytest
from playwright.sync_api import Page, Route, expect

from approvals.models import Decision, Request
from kernel.scope import tenant_transaction
from tests.approvals.stage import Stage, fresh_stage
from tests.browser.conftest import Visit
from tests.browser.test_accessibility import violations
from tests.factories import Somebody
from tests.installation import Installation
from tests.tenants.second_factors import PASSWORD, with_password

OPTIONS = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


@pytest.fixture
def stage() -> Stage:
    stage = fresh_stage()
    with_password(stage.bob.user)
    return stage


@pytest.fixture
def page(visit: Visit, installation: Installation) -> Page:
    page = visit(base_url=named(installation)).page
    device(page)
    return page


def named(installation: Installation) -> str:
    """A browser makes no passkey for an address that is a number."""
    return installation.url.replace("127.0.0.1", "localhost")


def device(page: Page) -> None:
    """Something in the computer that keeps passkeys, and signs when it is asked to."""
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    session.send("WebAuthn.addVirtualAuthenticator", {"options": OPTIONS})


def enter(page: Page, somebody: Somebody, path: str) -> None:
    """The first step of signing in."""
    page.goto(path)
    page.get_by_label("E-mail").fill(somebody.user.email)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()


def add_passkey(page: Page, somebody: Somebody) -> None:
    enter(page, somebody, "/accounts/2fa/webauthn/add/")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Go on").click()
    page.get_by_label("Its name").fill("This laptop")
    page.get_by_role("button", name="Add a passkey").click()
    expect(page.get_by_role("heading", name="Recovery codes")).to_be_visible()


def sign_out(page: Page) -> None:
    page.goto("/accounts/logout/")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def how(stage: Stage, request: Request) -> list[str]:
    with tenant_transaction(stage.tenant_id):
        row = Decision.objects.get(request=request)
    methods: list[str] = row.authentication["methods"]
    return methods


def test_a_passkey_is_the_second_step_of_signing_in(page: Page, stage: Stage) -> None:
    add_passkey(page, stage.bob)
    sign_out(page)
    enter(page, stage.bob, "/accounts/2fa/webauthn/")
    expect(page.get_by_role("heading", name="The second key")).to_be_visible()
    page.get_by_role("button", name="Use a passkey").click()
    expect(page.get_by_role("row", name="This laptop")).to_be_visible()


def test_a_policy_asks_for_the_passkey_and_the_decision_says_so(
    page: Page, stage: Stage
) -> None:
    stage.policy(reauthentication=60)
    add_passkey(page, stage.bob)
    request = stage.ask()
    page.goto(f"/r/{request.id}")
    page.get_by_role("button", name="Approve").click()
    sheet = page.get_by_role("dialog")
    sheet.get_by_label("Note for the record").fill("Typed before.")
    sheet.get_by_role("button", name="Use your passkey").click()
    page.get_by_role("button", name="Use a passkey").click()
    expect(page.locator("#case-title")).to_have_text(request.title)
    kept = page.get_by_role("dialog")
    expect(kept.get_by_label("Note for the record")).to_have_value("Typed before.")
    kept.get_by_role("button", name="Approve").click()
    expect(page.locator("#outcome")).to_be_focused()
    assert stage.fresh(request).state == "approved"
    assert how(stage, request) == ["password", "webauthn"]


def test_a_device_without_the_passkey_lets_nobody_in(
    page: Page, stage: Stage, visit: Visit, installation: Installation
) -> None:
    add_passkey(page, stage.bob)
    other = visit(base_url=named(installation)).page
    device(other)
    enter(other, stage.bob, "/accounts/2fa/webauthn/")
    other.get_by_role("button", name="Use a passkey").click()
    expect(other.locator("[data-passkey-error]")).to_contain_text("Nothing was signed")
    other.goto("/accounts/2fa/")
    expect(other.get_by_role("heading", name="The second key")).to_be_visible()


LOADED = """() => performance.getEntriesByType("resource")
  .some(one => one.name.includes("mfa/js/webauthn.") && one.responseEnd > 0)"""


def test_nothing_can_be_pressed_before_its_script_has_run(
    page: Page, stage: Stage
) -> None:
    """A script that comes late must cost nobody a press that does nothing."""
    enter(page, stage.bob, "/accounts/2fa/")
    held: list[Route] = []
    page.route("**/js/passkeys*.js", lambda route: held.append(route))
    page.goto("/accounts/2fa/webauthn/add/", wait_until="commit")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Go on").click(no_wait_after=True)
    expect(page.get_by_role("heading", name="Add a passkey")).to_be_visible()
    page.wait_for_function(LOADED)
    expect(page.get_by_role("button", name="Add a passkey")).to_be_hidden()
    held[-1].continue_()
    expect(page.get_by_role("button", name="Add a passkey")).to_be_visible()


NARROW = {"width": 360, "height": 740}
OWN = ("", "webauthn/", "webauthn/add/", "totp/activate/", "recovery-codes/generate/")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_pages_about_ones_own_sign_in_fit_and_have_no_violation(
    visit: Visit, stage: Stage, installation: Installation, scheme: str
) -> None:
    page = visit(
        base_url=named(installation), viewport=NARROW, color_scheme=scheme
    ).page
    device(page)
    add_passkey(page, stage.bob)
    found = {"codes": broken(page)}
    for path in (*(f"/accounts/2fa/{name}" for name in OWN), "/accounts/devices/"):
        page.goto(path, wait_until="load")
        assert page.url.endswith(path)
        found[path] = broken(page)
    assert {path: said for path, said in found.items() if said} == {}


def broken(page: Page) -> list[str]:
    wide = page.evaluate("document.documentElement.scrollWidth > innerWidth")
    return [*violations(page), *(["it is wider than the screen"] if wide else [])]
