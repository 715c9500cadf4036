"""The API's description, on its page: drawn under a strict policy, and only shown."""

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser


def test_the_api_is_read_in_a_browser_and_nothing_can_be_sent(page: Page) -> None:
    from tests.api.doors import DOORS, STREAMS

    page.goto("/api/v1/docs")
    operations = page.locator(".opblock")
    expect(operations).to_have_count(len(DOORS) + len(STREAMS))
    page.get_by_role("button", name="post /api/v1/approvals", exact=True).click()
    expect(page.get_by_text("Ask for one action in one call")).to_be_visible()
    expect(page.get_by_text("Authorize")).to_have_count(0)
    expect(page.get_by_role("button", name="Try it out")).to_have_count(0)
