"""From the sign-in page to a tenant's own provider, and back into the queue."""

import pytest
from playwright.sync_api import Page, expect

from approvals.models import Decision
from kernel.scope import tenant_transaction
from tenants.services.single_sign_on import map_group
from tests.approvals.stage import fresh_stage
from tests.oversight.sso.journey import set_up
from tests.oversight.sso.provider import Provider, running


@pytest.fixture(scope="module")
def provider() -> Provider:
    with running() as provider:
        yield provider


def test_a_person_comes_by_their_tenants_short_name_and_proves_it_again(
    page: Page, provider: Provider, settings: object
) -> None:
    settings.ALLOW_PRIVATE = ["127.0.0.0/8"]  # type: ignore[attr-defined]
    stage = fresh_stage()
    slug = stage.house.tenant.slug
    set_up(stage.house, provider)
    stage.policy(reauthentication=300)  # by signing in it was not said when
    map_group(
        tenant_id=stage.tenant_id,
        by=stage.house.alice.id,
        value="payers",
        group_id=stage.house.reviewers.id,
    )
    request = stage.ask()
    provider.signs_in("nora-1", name="Nora Lind", groups=["payers"])
    page.goto(f"/t/{slug}/queue/{request.id}")
    page.get_by_role("link", name="Use single sign-on").click()
    page.get_by_label("Your tenant’s short name").fill(slug)
    page.get_by_role("button", name="Go on").click()
    page.get_by_role("link", name="Go on").click()
    expect(page.locator("#case-title")).to_have_text(request.title)
    page.get_by_role("button", name="Approve").click()
    sheet = page.get_by_role("dialog")
    sheet.get_by_label("Note for the record").fill("Typed before.")
    sheet.get_by_role("button", name="Prove it to your organisation").click()
    kept = page.get_by_role("dialog")
    expect(kept.get_by_label("Note for the record")).to_have_value("Typed before.")
    kept.get_by_role("button", name="Approve, let it act").click()
    expect(page.get_by_text("turned by Nora Lind")).to_be_visible()
    with tenant_transaction(stage.tenant_id):
        decision = Decision.objects.get(request=request)
    assert (decision.verdict, decision.reason) == ("approve", "Typed before.")
    assert decision.authentication["methods"] == ["single_sign_on"]
