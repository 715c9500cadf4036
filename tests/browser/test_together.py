"""Ticking several requests and answering them together, by keyboard and without script."""

from playwright.sync_api import expect

from approvals.models import Request
from approvals.services.revoke import revoke
from checkpoints.services.tools import register_tool
from tests.approvals.stage import Stage, fresh_stage
from tests.browser.conftest import Visit


def tagging() -> tuple[Stage, list[Request]]:
    stage = fresh_stage()
    register_tool(
        tenant_id=stage.tenant_id,
        by=stage.house.alice.id,
        name="tag",
        mode="agent",
        risk="low",
        definition={},
    )
    return stage, [stage.ask(tool="tag", arguments={"tag": f"t{n}"}) for n in range(3)]


def states(stage: Stage, asked: list[Request]) -> list[str]:
    return [stage.fresh(one).state for one in asked]


def test_ticks_outlast_a_refresh_and_lead_to_every_action(visit: Visit) -> None:
    stage, asked = tagging()
    page = visit(stage.bob).page
    page.goto(f"/t/{stage.house.tenant.slug}/queue")
    page.get_by_text("2 more alike").click()
    for _ in asked[:2]:
        page.keyboard.press("j")
        page.keyboard.press("x")
    boxes = page.locator("input[name=pick]")
    expect(boxes.nth(1)).to_be_checked()
    stage.ask(tool="tag", arguments={"tag": "new"})
    expect(boxes).to_have_count(4)
    expect(page.locator("input[name=pick]:checked")).to_have_count(2)
    expect(page.locator("details .req__link:focus")).to_be_visible()
    page.keyboard.press("b")
    expect(page.locator("h1")).to_have_text("Approve 2 together?")
    expect(page.locator(".exact")).to_have_count(2)
    assert states(stage, asked) == ["pending"] * 3
    page.get_by_role("button", name="Approve 2").click()
    expect(page.locator("#outcome")).to_be_focused()
    expect(page.locator("h1")).to_have_text("2 approved")
    assert sorted(states(stage, asked)) == ["approved", "approved", "pending"]
    first = next(one for one in asked if stage.fresh(one).state == "approved")
    stands = page.locator(f"#state-{first.id}")
    expect(stands).to_have_text("Approved")
    revoke(stage.reviewer("Carol").person, request_id=first.id, reason="Stop.")
    expect(stands).to_have_text("Revoked")  # by the live stream alone
    expect(page.locator("#outcome")).to_be_focused()


def test_without_script(visit: Visit) -> None:
    stage, asked = tagging()
    page = visit(stage.bob, java_script_enabled=False).page
    page.goto(f"/t/{stage.house.tenant.slug}/queue")
    page.get_by_text("2 more alike").click()
    for box in page.locator("input[name=pick]").all():
        box.check()
    page.get_by_role("button", name="Reject ticked").click()
    page.get_by_label("Your reason").fill("Not this month.")
    page.get_by_role("button", name="Reject 3").click()
    expect(page.locator("h1")).to_have_text("3 rejected")
    assert states(stage, asked) == ["rejected"] * 3
