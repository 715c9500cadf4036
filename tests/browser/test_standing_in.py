"""Standing in for a colleague who is on leave, in a browser, from naming to the record."""

from datetime import UTC, datetime, timedelta

from playwright.sync_api import expect

from approvals.models import Decision
from kernel.scope import tenant_transaction
from tests.approvals.stage import fresh_stage
from tests.browser.conftest import Visit


def test_a_delegates_decision_shows_on_whose_behalf(visit: Visit) -> None:
    stage = fresh_stage()
    anna, bea = stage.reviewer("Anna"), stage.reviewer("Bea")
    request, home = stage.ask(), f"/t/{stage.house.tenant.slug}"

    page = visit(anna).page
    page.goto(f"{home}/leave")
    page.get_by_label("Who is asked instead").select_option("Bea")
    last = (datetime.now(UTC) + timedelta(days=5)).date().isoformat()
    page.get_by_label("Last day away").fill(last)
    page.get_by_role("button", name="Name them").click()
    expect(page.get_by_text("Bea stands in until")).to_be_visible()

    page = visit(bea).page
    page.goto(f"{home}/queue?view=mine")
    expect(page.get_by_text("For Anna too")).to_be_visible()
    page.goto(f"{home}/queue/{request.id}")
    page.get_by_role("button", name="Approve").click()
    sheet = page.get_by_role("dialog")
    expect(sheet.get_by_label("As myself")).to_be_checked()
    sheet.get_by_label("For Anna").check()
    sheet.get_by_role("button", name="Approve").click()
    expect(page.get_by_text("turned by Bea for Anna")).to_be_visible()
    with tenant_transaction(stage.tenant_id):
        decision = Decision.objects.get(request=request)
    assert (decision.member_id, decision.on_behalf_of_id) == (bea.id, anna.id)
