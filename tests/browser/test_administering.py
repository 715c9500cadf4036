"""An administrator in Chromium: a key that shows once, and the stop switch."""

from playwright.sync_api import expect

from tests.approvals.stage import fresh_stage
from tests.browser.conftest import Visit
from tests.browser.test_accessibility import violations


def test_a_key_is_issued_after_a_mistake_and_then_everything_is_stopped(
    visit: Visit,
) -> None:
    stage = fresh_stage()
    alice, agent = stage.house.alice, stage.house.robot.agent
    page = visit(alice).page
    page.goto(f"/t/{alice.slug}/agents/{agent.id}")
    page.get_by_label("What it is for").fill("Nightly")
    page.get_by_label("Environment").fill("Not Good")
    page.get_by_role("button", name="Issue it").click()
    expect(page.get_by_text("Use 1 to 32 of a-z")).to_be_visible()
    expect(page.get_by_label("What it is for")).to_have_value("Nightly")
    assert violations(page) == []
    page.get_by_label("Environment").fill("production")
    page.get_by_role("button", name="Issue it").click()
    secret = page.get_by_label("Key", exact=True).input_value()
    assert secret.strip().startswith("kt_production_")
    assert "kt_" not in page.url
    assert violations(page) == []
    page.get_by_role("link", name="Stop it").click()
    expect(page.get_by_text("Open requests")).to_be_visible()
    assert secret.strip() not in page.content()
    page.get_by_label("Why").fill("The key went into a chat.")
    page.get_by_role("button", name="Stop it").click()
    expect(page.get_by_role("heading", name="robot is stopped")).to_be_visible()
    expect(page.get_by_text("The key went into a chat.")).to_be_visible()
    assert violations(page) == []
