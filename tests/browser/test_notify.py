"""Being told in the browser: asked for by a button, kept there, and taken back there."""

from playwright.sync_api import expect

from tests.approvals.stage import fresh_stage
from tests.browser.conftest import Visit

TITLES = """async () => {
  const shown = [];
  const Real = window.Notification;
  window.Notification = class extends Real {
    constructor(title, said) { super(title, said); shown.push(`${title}: ${said.body}`); }
  };
  window.shown = shown;
}"""

UNSEEN = (
    'Object.defineProperty(document, "hidden", {get: () => true, configurable: true})'
)
SEEN = UNSEEN.replace("true, ", "false, ")


def test_somebody_is_told_here_until_they_will_not_be_any_more(visit: Visit) -> None:
    stage = fresh_stage()
    page = visit(stage.bob, permissions=["notifications"]).page
    home = f"/t/{stage.house.tenant.slug}"
    page.goto(f"{home}/notifications")
    state = page.locator("[data-notify-state]")
    expect(state).to_have_text("You are not told in this browser.")
    page.get_by_role("button", name="Tell me in this browser").click()
    expect(state).to_have_text("You are told in this browser.")
    page.goto(f"{home}/queue")
    page.evaluate(TITLES)
    page.evaluate(UNSEEN)  # as behind other windows
    stage.ask()
    page.wait_for_function("() => window.shown.length > 0")
    assert page.evaluate("shown") == ["Keyturn: 1 request waits for you"]
    page.goto(f"{home}/notifications")
    expect(state).to_have_text("You are told in this browser.")
    page.get_by_role("button", name="Tell me nothing more here").click()
    expect(state).to_have_text("You are not told in this browser.")


def test_whoever_is_looking_is_not_told(visit: Visit) -> None:
    """The page itself shows what comes in."""
    stage = fresh_stage()
    page = visit(stage.bob, permissions=["notifications"]).page
    home = f"/t/{stage.house.tenant.slug}"
    page.goto(f"{home}/notifications")
    page.get_by_role("button", name="Tell me in this browser").click()
    page.goto(f"{home}/queue")
    page.evaluate(TITLES)
    page.evaluate(SEEN)
    stage.ask()
    expect(page.locator(".list h2 .count")).to_have_text("1")
    page.evaluate(UNSEEN)
    stage.ask()
    page.wait_for_function("() => window.shown.length > 0")
    assert page.evaluate("shown") == ["Keyturn: 2 requests wait for you"]
