"""From one case to the next, in the page that is open: list, title and stream follow."""

import re

import pytest
from django.conf import settings
from playwright.sync_api import Page, expect

from approvals.models import Request
from approvals.services.remarks import comment
from tests.approvals.stage import Stage, fresh_stage
from tests.browser.conftest import Visit

MARK = "globalThis.open = true"
STILL_OPEN = "() => globalThis.open === true"


def name(request: Request) -> str:
    return f"REQ-{request.id.hex[-8:].upper()}"


def open_first(visit: Visit, stage: Stage, first: Request) -> Page:
    page = visit(stage.bob).page
    page.goto(f"/t/{stage.house.tenant.slug}/queue/{first.id}?view=mine")
    page.evaluate(MARK)
    return page


def send(page: Page, verdict: str = "approve") -> None:
    page.evaluate(
        """verdict => {
          const form = document.querySelector(`#sheet-${verdict} form`);
          form.querySelector("[name=onward]").checked = true;
          form.requestSubmit();
        }""",
        verdict,
    )


def shows(page: Page, request: Request, *, left: int) -> None:
    """Everything on the page is about this case, and counts what is left."""
    expect(page).to_have_url(re.compile(f"/queue/{request.id}"))
    current = page.locator(".req__link[aria-current]")
    expect(current).to_have_attribute("id", f"req-{request.id}")
    expect(page.locator(".crumbs")).to_contain_text(name(request))
    expect(page).to_have_title(re.compile(rf"{name(request)}, .* \({left}\)"))
    expect(page.locator("#count-q")).to_have_text(str(left))


def test_no_new_page_is_opened(visit: Visit) -> None:
    stage = fresh_stage()
    asked = [stage.ask(decide_within=1_000 + n) for n in range(4)]
    page = open_first(visit, stage, asked[0])
    send(page)
    shows(page, asked[1], left=3)
    expect(page.locator("#outcome")).to_be_focused()
    page.keyboard.press("j")
    shows(page, asked[2], left=3)
    expect(page.locator("#case")).to_be_focused()
    page.locator(f"#req-{asked[3].id}").click()
    shows(page, asked[3], left=3)
    comment(stage.reviewer().person, request_id=asked[3].id, text="Ask first.")
    expect(page.locator("#timeline")).to_contain_text("Ask first.")  # the stream is its
    assert page.evaluate(STILL_OPEN)
    page.go_back()
    shows(page, asked[2], left=3)


def test_going_back_passes_no_case_twice(visit: Visit) -> None:
    """An answer that stays on its case leaves the way there as it was."""
    stage = fresh_stage()
    request = stage.ask()
    page = visit(stage.bob).page
    page.goto(f"/t/{stage.house.tenant.slug}/queue")
    page.locator(f"#req-{request.id}").click()
    expect(page).to_have_url(re.compile(f"/queue/{request.id}"))
    stay = "form => { form.onward.checked = false; form.requestSubmit(); }"
    page.locator("#sheet-approve form").evaluate(stay)
    expect(page.locator("#outcome")).to_be_visible()
    page.go_back()
    expect(page).to_have_url(re.compile(r"/queue$"))


def test_leaving_a_case_costs_no_event_for_each_of_its_elements(visit: Visit) -> None:
    """Hundreds of them, twice each, were half of what the next case kept waiting."""
    stage = fresh_stage()
    asked = [stage.ask(decide_within=1_000 + n) for n in range(2)]
    page = open_first(visit, stage, asked[0])
    page.evaluate(
        """() => {
          globalThis.farewells = 0;
          addEventListener("htmx:beforeCleanupElement", () => { farewells += 1; });
        }"""
    )
    page.keyboard.press("j")
    shows(page, asked[1], left=2)
    assert page.locator("#case *").count() > 100
    assert 0 < page.evaluate("farewells") < 20  # the case, the list and its counts


def test_an_answer_that_is_refused_comes_back_in_place(visit: Visit) -> None:
    stage = fresh_stage()
    asked = [stage.ask() for _ in range(2)]
    page = open_first(visit, stage, asked[0])
    page.locator("#sheet-reject form").evaluate("form => { form.noValidate = true }")
    send(page, "reject")
    expect(page.locator("#sheet-reject textarea")).to_be_focused()
    expect(page.locator("#sheet-reject .error").first).to_be_visible()
    assert page.evaluate(STILL_OPEN)
    assert stage.fresh(asked[0]).state == "pending"


@pytest.mark.parametrize("lost", ["session", "server"])
def test_what_is_no_case_is_a_page_of_its_own(visit: Visit, lost: str) -> None:
    stage = fresh_stage()
    page = open_first(visit, stage, stage.ask())
    if lost == "session":
        page.context.clear_cookies(name=settings.SESSION_COOKIE_NAME)
    else:
        page.route("**/decide*", lambda route: route.fulfill(status=503, body="Later."))
    send(page)
    if lost == "session":
        expect(page).to_have_url(re.compile("/accounts/login/"))
    else:
        expect(page.get_by_text("Later.")).to_be_visible()


def test_pressed_fast_each_press_counts(visit: Visit) -> None:
    """What is pressed while a case is fetched begins from that case."""
    stage = fresh_stage()
    asked = [stage.ask(decide_within=1_000 + n) for n in range(5)]
    page = open_first(visit, stage, asked[0])
    note = page.locator("#sheet-approve textarea")
    note.evaluate("part => { part.style.height = '9rem' }")  # as a hand would
    page.evaluate(
        """() => { for (let n = 0; n < 3; n++) document.body.dispatchEvent(
             new KeyboardEvent("keydown", { key: "j", bubbles: true })) }"""
    )
    shows(page, asked[3], left=5)
    assert page.evaluate(STILL_OPEN)


def test_the_next_is_drawn_while_the_answer_is_given(visit: Visit) -> None:
    """Its sheet asks for it, and nothing of it is fetched again once it is answered."""
    stage = fresh_stage()
    asked = [stage.ask(decide_within=1_000 + n) for n in range(4)]
    page = open_first(visit, stage, asked[0])
    send(page)
    shows(page, asked[1], left=3)
    with page.expect_response(re.compile(f"{asked[1].id}/ahead")) as drawn:
        page.keyboard.press("a")
    assert drawn.value.headers["keyturn-drawn"]
    expect(page.locator("#sheet-approve textarea")).to_be_focused()
    with page.expect_response(re.compile(f"{asked[1].id}/decide")) as decided:
        send(page)
    shows(page, asked[2], left=2)
    assert 'id="case"' not in decided.value.text()
    outcome = page.locator("#outcome")
    expect(outcome).to_be_focused()
    expect(outcome).to_contain_text(f"{name(asked[1])}: approved")
    assert page.locator("#case").count() == 1
    assert page.evaluate(STILL_OPEN)
    page.keyboard.press("j")
    shows(page, asked[3], left=2)
    assert stage.fresh(asked[1]).state != "pending"


def test_what_was_drawn_is_of_no_use_for_another(visit: Visit) -> None:
    """Drawn for one, and then another is answered: that one's next is shown."""
    stage = fresh_stage()
    asked = [stage.ask(decide_within=1_000 + n) for n in range(4)]
    page = open_first(visit, stage, asked[0])
    send(page)
    shows(page, asked[1], left=3)
    with page.expect_response(re.compile(f"{asked[1].id}/ahead")):
        page.keyboard.press("r")
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    shows(page, asked[2], left=3)
    send(page)
    shows(page, asked[3], left=2)
    expect(page.locator("#outcome")).to_contain_text(f"{name(asked[2])}: approved")


def test_the_place_in_the_list_follows_it(visit: Visit) -> None:
    """Others ask and answer while a case is open; and its neighbours open in the page."""
    stage = fresh_stage()
    first, second = [stage.ask(decide_within=1_000 + n) for n in range(2)]
    page = open_first(visit, stage, second)
    ways = page.locator("#ways")
    expect(ways).to_contain_text("2 of 2")
    third = stage.ask(decide_within=1_002)
    expect(ways).to_contain_text("2 of 3")
    stage.answer(first, stage.reviewer())
    expect(ways).to_contain_text("1 of 2")
    ways.get_by_role("link", name="Next request").click()
    shows(page, third, left=2)
    assert page.evaluate(STILL_OPEN)
