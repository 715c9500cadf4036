"""From one case to the next, in the page that is open: list, title and stream follow."""

import re
from dataclasses import dataclass, field

import pytest
from django.conf import settings
from playwright.sync_api import Page, Route, expect

from approvals.models import Decision, Request
from approvals.services.remarks import comment
from tests.approvals.stage import Stage, fresh_stage
from tests.browser.conftest import Visit
from tests.browser.visitor import Visitor

V = Decision.Verdict
MARK = "globalThis.open = true"
STILL_OPEN = "() => globalThis.open === true"


def name(request: Request) -> str:
    return f"REQ-{request.id.hex[-8:].upper()}"


def open_first(visit: Visit, stage: Stage, first: Request) -> Page:
    return opened(visit(stage.bob), stage, first)


def opened(visitor: Visitor, stage: Stage, first: Request) -> Page:
    page = visitor.page
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


@dataclass
class Line:
    """To the server; an answer is held up on it until it is let through."""

    held: list[Route] = field(default_factory=list)

    @classmethod
    def of(cls, page: Page) -> "Line":
        line = cls()
        page.route("**/decide*", lambda route: line.held.append(route), times=1)
        return line

    def let_through(self) -> None:
        self.held.pop().continue_()


def with_the_next_drawn(
    visit: Visit, verdict: str = "approve"
) -> tuple[Stage, list[Request], Visitor]:
    """The second of four cases, whose step is open, and the third ready to be shown."""
    stage = fresh_stage()
    asked = [stage.ask(decide_within=1_000 + n) for n in range(4)]
    visitor = visit(stage.bob)
    page = opened(visitor, stage, asked[0])
    send(page)
    shows(page, asked[1], left=3)
    with page.expect_response(re.compile(f"{asked[1].id}/ahead")):
        page.keyboard.press(verdict[0])
    expect(page.locator(f"#sheet-{verdict} textarea")).to_be_focused()
    return stage, asked, visitor


def on_its_way(page: Page, answered: Request, following: Request) -> None:
    """The next is shown; nobody is told that the one before it is recorded."""
    outcome = page.locator("#outcome")
    expect(outcome).to_contain_text(f"{name(answered)}: your answer is on its way")
    expect(outcome).to_be_focused()
    title = page.locator("#case .crumbs")
    expect(title).to_contain_text(name(following))


def held_up(page: Page, answered: Request, following: Request) -> Line:
    """An approval that is on its way."""
    line = Line.of(page)
    send(page)
    on_its_way(page, answered, following)
    return line


def test_the_next_is_shown_while_the_answer_is_on_its_way(visit: Visit) -> None:
    stage, asked, visitor = with_the_next_drawn(visit)
    page = visitor.page
    line = held_up(page, asked[1], asked[2])
    assert stage.fresh(asked[1]).state == "pending"
    pane = page.locator("#case-scroll")
    pane.evaluate("part => { part.scrollTop = 200 }")
    with page.expect_response(re.compile(f"{asked[1].id}/decide")) as decided:
        line.let_through()
    shows(page, asked[2], left=2)
    assert 'id="case"' not in decided.value.text()
    outcome = page.locator("#outcome")
    expect(outcome).to_contain_text(f"{name(asked[1])}: approved")
    expect(outcome).to_be_focused()
    assert pane.evaluate("part => part.scrollTop") > 100  # it was being read
    assert stage.fresh(asked[1]).state != "pending"
    page.keyboard.press("r")
    expect(page.locator("#sheet-reject textarea")).to_be_focused()
    assert page.locator("#case").count() == 1
    assert page.evaluate(STILL_OPEN)


def test_an_answer_that_was_not_recorded_brings_its_case_back(visit: Visit) -> None:
    """Another was faster."""
    stage, asked, visitor = with_the_next_drawn(visit)
    page = visitor.page
    note = page.locator("#sheet-approve textarea")
    note.fill("It is due.")
    line = held_up(page, asked[1], asked[2])
    stage.answer(asked[1], stage.reviewer(), verdict=V.REJECT, reason="No.")
    line.let_through()
    expect(page.locator("#case .crumbs")).to_contain_text(name(asked[1]))
    expect(page.locator("#outcome")).to_contain_text("Already")
    assert page.locator("#case").count() == 1
    expect(page).to_have_url(re.compile(f"/queue/{asked[1].id}"))


@pytest.mark.parametrize("end", ["sendError", "timeout"])
def test_an_answer_that_never_arrived_is_sent_without_script(
    visit: Visit, end: str
) -> None:
    """With every word of it."""
    _, asked, visitor = with_the_next_drawn(visit)
    page = visitor.page
    page.locator("#sheet-approve textarea").fill("It is due.")
    if end == "timeout":
        page.evaluate("htmx.config.timeout = 2_000")
    line = held_up(page, asked[1], asked[2])
    if end == "sendError":
        line.held.pop().abort()
    shows(page, asked[2], left=2)
    expect(page.locator("#outcome")).to_contain_text("It is due.")
    assert not page.evaluate(STILL_OPEN)
    assert {said.partition(",")[0] for said in visitor.broken} == {
        "htmx:afterRequest",
        f"htmx:{end}",
    }
    visitor.broken.clear()


def test_nothing_can_be_pressed_while_an_answer_is_on_its_way(visit: Visit) -> None:
    """Or what is typed elsewhere is lost, or taken for keys, when it arrives."""
    _, asked, visitor = with_the_next_drawn(visit)
    page = visitor.page
    line = held_up(page, asked[1], asked[2])
    page.keyboard.type("mjraosec/g")
    row = page.locator(f"#req-{asked[3].id}").bounding_box()
    assert row is not None
    page.mouse.click(row["x"] + 9, row["y"] + 9)
    expect(page.locator(".sheet:popover-open")).to_have_count(0)
    expect(page.locator("#outcome")).to_be_focused()
    line.let_through()
    shows(page, asked[2], left=2)
    expect(page.locator("#outcome")).to_be_focused()
    expect(page.locator("#case")).not_to_contain_text("You are on it")
    assert page.evaluate(STILL_OPEN)


def test_leaving_while_an_answer_is_on_its_way_is_asked_about(visit: Visit) -> None:
    _, asked, visitor = with_the_next_drawn(visit)
    page = visitor.page
    line = Line.of(page)
    page.locator("#sheet-approve textarea").press(
        "x"
    )  # browsers ask who has typed only
    send(page)
    on_its_way(page, asked[1], asked[2])
    with page.expect_event("dialog") as asked_about:
        page.close(run_before_unload=True)
    assert asked_about.value.type == "beforeunload"
    assert visitor.broken.pop() == asked_about.value.message
    line.let_through()
    shows(page, asked[2], left=2)


@pytest.mark.parametrize("verdict", ["reject", "approve"])
def test_what_was_shown_once_is_not_shown_again(visit: Visit, verdict: str) -> None:
    """It was emptied, or has changed: its case is fetched."""
    _, asked, visitor = with_the_next_drawn(visit, verdict)
    page = visitor.page
    page.locator(f"#sheet-{verdict} textarea").fill("So.")
    digest = page.locator(f"#sheet-{verdict} [name=digest]")
    digest.evaluate("part => { part.value = '0'.repeat(64) }")
    send(page, verdict)
    expect(page.locator("#case .crumbs")).to_contain_text(name(asked[1]))
    expect(page.locator("#case [data-outcome]").first).to_be_visible()
    line = Line.of(page)
    send(page, verdict)
    stays_with(page, asked[1])
    line.let_through()
    shows(page, asked[2], left=2)


def stays_with(page: Page, request: Request) -> None:
    """While the answer is on its way."""
    expect(page.locator("form.htmx-request")).to_have_count(1)
    expect(page.locator("#case .crumbs")).to_contain_text(name(request))
    assert page.locator("#case").count() == 1


def test_a_reason_that_is_missing_is_asked_for_where_one_is(visit: Visit) -> None:
    _, asked, visitor = with_the_next_drawn(visit, "reject")
    page = visitor.page
    line = Line.of(page)
    send(page, "reject")
    stays_with(page, asked[1])
    line.let_through()
    expect(page.locator("#sheet-reject .error").first).to_be_visible()


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
