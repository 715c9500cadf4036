"""A key is taken back where it was turned: by the keyboard, and without script."""

import pytest
from playwright.sync_api import Page, expect

from approvals.models import Decision, Request
from kernel.scope import tenant_transaction
from tests.approvals.stage import Stage, fresh_stage
from tests.browser.conftest import Visit
from tests.browser.test_deciding import address, press


@pytest.fixture
def stage() -> Stage:
    made = fresh_stage()
    made.reviewer()
    made.policy(rules=[{"approvals": 2}])
    return made


def counted(stage: Stage, request: Request) -> list[bool]:
    """Of each answer, oldest first, whether it counts."""
    with tenant_transaction(stage.tenant_id):
        rows = Decision.objects.filter(request=request).order_by("created_at")
        return [one.dismissed_at is None for one in rows]


def taken_back(page: Page) -> None:
    outcome = page.locator("#outcome")
    expect(outcome).to_contain_text("You took your answer back")
    expect(page.get_by_role("button", name="Approve")).to_be_visible()
    expect(page.get_by_role("button", name="Take it back")).to_have_count(0)


def test_by_the_keyboard_and_turned_again(visit: Visit, stage: Stage) -> None:
    request, page = stage.ask(), visit(stage.bob).page
    page.goto(address(stage, request))
    press(page, "Approve", "Turn my key")
    expect(page.locator("#outcome")).to_contain_text("Your key is turned")
    button = page.get_by_role("button", name="Take it back")
    for _ in range(60):
        if button.evaluate("it => it === document.activeElement"):
            break
        page.keyboard.press("Tab")
    expect(button).to_be_focused()
    page.keyboard.press("Enter")
    taken_back(page)
    expect(page.locator("#outcome")).to_be_focused()
    assert counted(stage, request) == [False]
    press(page, "Approve", "Turn my key")
    expect(page.locator("#outcome")).to_contain_text("Your key is turned")
    assert counted(stage, request) == [False, True]


def test_without_script(visit: Visit, stage: Stage) -> None:
    request = stage.ask()
    stage.answer(request)
    page = visit(stage.bob, java_script_enabled=False).page
    page.goto(address(stage, request))
    page.get_by_role("button", name="Take it back").click()
    taken_back(page)
    assert counted(stage, request) == [False]


def test_a_page_that_was_left_open_says_that_it_was_too_late(
    visit: Visit, stage: Stage
) -> None:
    request = stage.ask()
    stage.answer(request)
    page = visit(stage.bob).page
    page.goto(address(stage, request))
    expect(page.get_by_role("button", name="Take it back")).to_be_visible()
    stage.answer(request, stage.reviewer("Dora"))
    page.get_by_role("button", name="Take it back").click()
    expect(page.locator("#outcome")).to_contain_text("Nothing was taken back")
    expect(page.locator("#outcome")).to_be_focused()
    assert counted(stage, request) == [True, True]
