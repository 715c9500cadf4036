"""Policies in a real browser: written, tried and published by two, at every width."""

import re

import pytest
from playwright.sync_api import Page, expect

from approvals.services.policy_drafts import save_policy_draft
from tenants.models import Role
from tenants.services import ask_for_second_admin, create_group
from tests.approvals.stage import Stage, fresh_stage
from tests.browser.conftest import Visit
from tests.browser.gallery import HOSTILE
from tests.factories import fresh_member

BESIDE = """page => [...page.querySelectorAll("*")].filter(part =>
  part.getBoundingClientRect().right > innerWidth + 1 && !part.closest("pre, .lines, .sr"))
  .map(part => part.outerHTML.slice(0, 200))"""


@pytest.fixture
def stage() -> Stage:
    return fresh_stage()


def address(stage: Stage, rest: str = "") -> str:
    return f"/t/{stage.house.tenant.slug}/{rest or 'policies'}"


def test_two_admins_bring_a_policy_into_force_without_script(
    visit: Visit, stage: Stage
) -> None:
    asked = stage.ask()
    dora = fresh_member(stage.house.alice, "Dora", role=Role.ADMIN)
    ask_for_second_admin(tenant_id=stage.tenant_id, by=stage.house.alice.id, asked=True)
    page = visit(stage.house.alice, java_script_enabled=False).page
    page.goto(address(stage))
    page.get_by_role("link", name="New policy").click()
    page.get_by_label("Name").fill("payments")
    page.get_by_label("Which actions").fill("tool == 'pay' && amount > 3")
    page.get_by_role("button", name="Keep as draft").click()
    flaw = page.locator("#selector-error")
    expect(flaw).to_contain_text("There is no `amount`.")
    expect(flaw).to_contain_text("Line 1, column 18.")

    page.get_by_label("Which actions").fill("tool == 'pay'")
    page.get_by_role("button", name="Add a rule").click()
    page.get_by_label("People who agree").fill("2")
    page.get_by_role("button", name="Try it").click()
    trial = page.locator("#trial")
    expect(trial).to_contain_text("1 of the last 1 requests would have changed")
    expect(trial.get_by_role("link", name=asked.title)).to_be_visible()
    expect(page.get_by_label("People who agree")).to_have_value("2")
    page.get_by_role("button", name="Keep as draft").click()
    expect(page.get_by_text("Another admin has to publish")).to_be_visible()
    expect(page.get_by_role("button", name="Publish")).to_have_count(0)

    other = visit(dora, java_script_enabled=False).page
    other.goto(address(stage))
    other.get_by_role("link", name="payments").click()
    other.get_by_role("button", name="Publish").click()
    expect(other.get_by_role("heading", level=1)).to_have_text("payments revision 1")
    expect(other.get_by_text("written by Alice, cosigned by Dora")).to_be_visible()


def test_enter_in_a_field_tries_and_publishes_nothing(
    visit: Visit, stage: Stage
) -> None:
    page = visit(stage.house.alice).page
    page.goto(address(stage, "new-policy"))
    page.get_by_label("In a sentence").fill("Everything needs somebody.")
    page.get_by_label("In a sentence").press("Enter")
    expect(page.locator("#trial-h")).to_be_focused()
    expect(page.get_by_label("In a sentence")).to_have_value(
        "Everything needs somebody."
    )
    page.goto(address(stage))
    expect(page.get_by_text("No policy yet")).to_be_visible()


@pytest.mark.parametrize("width", [1440, 768, 360])
def test_nothing_is_beside_the_page(visit: Visit, stage: Stage, width: int) -> None:
    """Not even with long words, hostile titles and names of one unbroken line."""
    alice = stage.house.alice
    create_group(tenant_id=stage.tenant_id, by=alice.id, name="G" * 100)
    stage.ask(arguments={"payee": HOSTILE, "amount": "48200.00"})
    name = "p" * 100
    said = {"summary": f"{HOSTILE} {'y' * 200}"[:300], "reason": "always"}
    stage.policy(name, selector=f"tool == '{'x' * 300}'", **said)
    stage.policy(name, verdict="deny", selector="tool == 'pay'")
    draft = {"verdict": "require_review", "selector": "size(target) > 1", **said}
    who = {"tenant_id": stage.tenant_id, "by": alice.id, "name": name}
    save_policy_draft(**who, definition=draft, note="n" * 500)  # type: ignore[arg-type]
    page = visit(alice, viewport={"width": width, "height": 900}).page
    for rest in (
        "policies",
        f"policies/{name}?revision=2&against=1",
        f"policies/{name}?try=500",
        f"policies/{name}/edit",
    ):
        page.goto(address(stage, rest))
        assert page.locator("main").evaluate(BESIDE) == [], rest
        unfold(page)
        assert page.locator("main").evaluate(BESIDE) == [], rest


def unfold(page: Page) -> None:
    for summary in page.locator("main summary").all():
        summary.click()


def test_hidden_characters_are_shown(visit: Visit, stage: Stage) -> None:
    stage.policy("odd", summary=HOSTILE, selector="tool == 'a\u202eb'")
    page = visit(stage.house.alice).page
    page.goto(address(stage, "policies/odd"))
    main = page.locator("main")
    expect(main.locator(".cp").first).to_be_visible()
    text = main.inner_text()
    assert "\u202e" not in text
    assert "\u200b" not in text
    assert re.search(r"U\+202E", text)
