"""Ten requests, one after the other, by keyboard alone."""

import re

from playwright.sync_api import Page, expect

from approvals.models import Request
from tests.approvals.stage import Stage, fresh_stage
from tests.browser.conftest import Visit

ORDINARY = 4  # keys that one request may take


class Keyboard:
    """Counts what is pressed; typing a reason is not counted, opening its field is."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self.pressed = 0

    def press(self, *keys: str) -> None:
        for key in keys:
            self._page.keyboard.press(key)
            self.pressed += 1


def triage(stage: Stage) -> list[Request]:
    return [stage.ask(decide_within=1_000 + n) for n in range(10)]


def shows(page: Page, request: Request) -> None:
    """The case, with all of its action in view, so that it can be approved."""
    expect(page).to_have_url(re.compile(f"/queue/{request.id}"))
    expect(page.locator("[data-gate]")).to_be_enabled()


def decided(stage: Stage, asked: list[Request]) -> list[str]:
    return [stage.fresh(one).state for one in asked]


def test_ten_in_at_most_four_keys_each(visit: Visit) -> None:
    stage = fresh_stage()
    asked, page = triage(stage), visit(stage.bob).page
    page.goto(f"/t/{stage.house.tenant.slug}/queue?view=mine")
    keyboard = Keyboard(page)
    keyboard.press("j")
    expect(page.locator(f"#req-{asked[0].id}")).to_be_focused()
    keyboard.press("o")
    for place, request in enumerate(asked):
        shows(page, request)
        before = keyboard.pressed
        (approve if place % 3 else reject)(page, keyboard)
        assert keyboard.pressed - before <= ORDINARY
        expect(page.locator("#outcome")).to_be_focused()
        if place < 9:
            keyboard.press("j")
            assert keyboard.pressed - before <= ORDINARY
    expect(page.get_by_text("Nothing needs your key").first).to_be_visible()
    assert decided(stage, asked) == [
        "approved" if place % 3 else "rejected" for place in range(10)
    ]


def approve(page: Page, keyboard: Keyboard) -> None:
    keyboard.press("a")
    expect(page.get_by_role("dialog").get_by_label("Note")).to_be_focused()
    keyboard.press("Control+Enter")


def reject(page: Page, keyboard: Keyboard) -> None:
    keyboard.press("r")
    expect(page.get_by_role("dialog").get_by_label("Your reason")).to_be_focused()
    page.keyboard.type("Not this month.")
    keyboard.press("Control+Enter")


def test_going_on_by_itself_takes_two(visit: Visit) -> None:
    """The box in the sheet is ticked once and stays so; each outcome is told and focused."""
    stage = fresh_stage()
    asked, page = triage(stage), visit(stage.bob).page
    page.goto(f"/t/{stage.house.tenant.slug}/queue/{asked[0].id}?view=mine")
    keyboard = Keyboard(page)
    shows(page, asked[0])
    keyboard.press("a")
    expect(page.get_by_role("dialog").get_by_label("Note")).to_be_focused()
    keyboard.press("Tab", "Space", "Control+Enter")
    for place, request in enumerate(asked[1:], start=1):
        shows(page, request)
        told = page.locator("#outcome")
        expect(told).to_be_focused()
        expect(told).to_contain_text(f"REQ-{asked[place - 1].id.hex[-8:].upper()}")
        approve(page, keyboard)
    expect(page).to_have_url(re.compile(f"/queue/{asked[9].id}"))
    expect(page.locator("#outcome")).to_be_focused()
    assert set(decided(stage, asked)) == {"approved"}
    assert keyboard.pressed == 4 + 9 * 2
