"""From signing in to the outcome: what a reviewer does, in a browser, with everything on."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from approvals.models import Decision, Request
from kernel.scope import tenant_transaction
from tests.approvals.stage import ARGUMENTS, Stage, fresh_stage
from tests.approvals.tool_server import ToolServer
from tests.browser.conftest import Visit
from tests.examples.waiting import wait_until
from tests.factories import Somebody

PASSWORD = "correct horse battery staple"


@pytest.fixture(scope="module")
def company() -> Iterator[ToolServer]:
    """The system outside that a managed tool acts on."""
    server = ToolServer()
    yield server
    server.close()


@pytest.fixture
def stage(company: ToolServer) -> Stage:
    return fresh_stage("managed", **company.definition())


def address(stage: Stage, request: Request | None = None) -> str:
    queue = f"/t/{stage.house.tenant.slug}/queue"
    return f"{queue}/{request.id}" if request else queue


def decision_count(stage: Stage, request: Request) -> int:
    with tenant_transaction(stage.tenant_id):
        return Decision.objects.filter(request=request).count()


def press(page: Page, opens: str, then: str) -> None:
    """The two steps of every answer: open the sheet, then the button in it."""
    page.get_by_role("button", name=opens).click()
    page.get_by_role("dialog").get_by_role("button", name=then).click()


def test_sign_in_approve_and_see_it_confirmed(
    visit: Visit, stage: Stage, company: ToolServer
) -> None:
    request, page = stage.ask(), visit().page
    with_password(stage.bob)
    page.goto(f"/r/{request.id}")  # the link in a message
    page.get_by_label("E-mail").fill(stage.bob.user.email)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator("#case-title")).to_have_text(request.title)
    press(page, "Approve", "Approve and send")
    expect(page.locator("#outcome h2")).to_have_text("Done, and confirmed")
    expect(page.locator(".extid")).to_have_text("EX-1")
    assert company.calls() == 1


def with_password(somebody: Somebody) -> None:
    somebody.user.set_password(PASSWORD)
    somebody.user.save()


def test_reject_with_a_reason(visit: Visit, stage: Stage, company: ToolServer) -> None:
    request, page = stage.ask(), visit(stage.bob).page
    page.goto(address(stage, request))
    page.get_by_role("button", name="Reject").click()
    sheet = page.get_by_role("dialog")
    sheet.get_by_label("Your reason").fill("Not this month.")
    sheet.get_by_role("button", name="Reject request").click()
    expect(page.get_by_text("Rejected by Bob").first).to_be_visible()
    expect(page.locator("#outcome")).to_be_focused()
    assert (stage.fresh(request).state, company.calls()) == ("rejected", 0)


def test_ask_for_changes(visit: Visit, stage: Stage) -> None:
    request, page = stage.ask(), visit(stage.bob).page
    page.goto(address(stage, request))
    page.get_by_role("button", name="Changes").click()
    sheet = page.get_by_role("dialog")
    sheet.get_by_label("What should change?").fill("Name the invoice.")
    sheet.get_by_role("button", name="Ask for changes").click()
    expect(page.get_by_text("Bob asked for changes").first).to_be_visible()
    assert stage.fresh(request).state == "changes_requested"


def test_answer_by_a_form_of_the_agents_schema(visit: Visit, stage: Stage) -> None:
    schema = {
        "type": "object",
        "required": ["centre"],
        "properties": {
            "centre": {"enum": ["4100", "4200"]},
            "note": {"type": "string"},
        },
    }
    request = stage.ask(response_schema=schema)
    page = visit(stage.bob).page
    page.goto(address(stage, request))
    page.get_by_role("button", name="Respond").click()
    sheet = page.get_by_role("dialog")
    sheet.get_by_role("button", name="Answer, do not send").click()
    expect(sheet).to_contain_text("This is needed.")
    sheet.get_by_label("centre").select_option("4200")
    sheet.get_by_role("button", name="Answer").click()
    expect(page.get_by_text("Answered by Bob").first).to_be_visible()
    assert stage.fresh(request).response == {"centre": "4200"}


def test_edit_compare_and_keep(visit: Visit, stage: Stage, company: ToolServer) -> None:
    carol, request = stage.reviewer(), stage.ask()
    page = visit(stage.bob).page
    page.goto(address(stage, request))
    page.get_by_role("link", name="Edit").click()
    page.get_by_label("amount").fill("1000.00")
    page.get_by_label("Why you edit").fill("The order says so.")
    page.keyboard.press("Control+Enter")  # show the comparison
    expect(page.locator(".diff__new")).to_have_text('"1000.00"')
    assert stage.fresh(request).revision == 1
    page.get_by_role("button", name="Change the values").click()
    expect(page.get_by_label("amount")).to_have_value("1000.00")
    expect(page.get_by_label("Why you edit")).to_have_value("The order says so.")
    page.get_by_role("button", name="Show the comparison").click()
    page.get_by_role("button", name="Make it revision 2").click()
    expect(page.locator("#outcome")).to_contain_text("Your values are revision 2")
    expect(page.locator(".exact")).to_contain_text("1000.00")
    expect(page.get_by_text("You cannot turn a key here.")).to_be_visible()
    second = visit(carol).page
    second.goto(address(stage, request))
    press(second, "Approve", "Approve and send")
    expect(second.locator("#outcome h2")).to_have_text("Done, and confirmed")
    assert company.calls() == 1


def test_a_stale_tab_is_told_and_keeps_what_was_typed(
    visit: Visit, stage: Stage
) -> None:
    request, page = stage.ask(), visit(stage.bob).page
    page.goto(address(stage, request))
    page.get_by_role("button", name="Approve").click()
    page.get_by_role("dialog").get_by_label("Note").fill("As agreed on Monday")
    changed = {**ARGUMENTS, "amount": "9.00"}
    edit = Decision.Verdict.EDIT
    stage.answer(request, stage.reviewer(), verdict=edit, arguments=changed, reason="x")
    expect(page.locator("[data-fresh]")).to_be_visible()  # live, and nothing exchanged
    expect(page.locator(".exact")).to_contain_text("1240.00")
    page.get_by_role("dialog").get_by_role("button", name="Approve").click()
    expect(page.locator("#outcome")).to_contain_text(
        "This changed while you were reading"
    )
    expect(page.locator(".exact")).to_contain_text("9.00")
    assert stage.fresh(request).state == "pending"
    page.get_by_role("button", name="Approve").click()
    kept = page.get_by_role("dialog").get_by_label("Note")
    expect(kept).to_have_value("As agreed on Monday")


def test_two_browsers_decide_at_once(
    visit: Visit, stage: Stage, company: ToolServer
) -> None:
    """One decision, one 409, one effect."""
    request = stage.ask()
    pages = [visit(one).page for one in (stage.bob, stage.reviewer())]
    for page in pages:
        page.goto(address(stage, request))
        page.get_by_role("button", name="Approve").click()
        expect(page.get_by_role("dialog")).to_be_visible()
    statuses = race(pages)
    assert sorted(statuses) == [200, 409]
    for page in pages:
        page.goto(address(stage, request))
        expect(page.locator("#outcome h2")).to_have_text("Done, and confirmed")
    assert decision_count(stage, request) == 1
    assert company.calls() == 1


def race(pages: list[Page]) -> list[int]:
    """Send both forms before either is answered; what each was answered."""
    answers: list[int] = []
    for page in pages:
        page.on(
            "response",
            lambda response: (
                answers.append(response.status)
                if response.request.method == "POST"
                else None
            ),
        )
    for page in pages:
        page.evaluate("document.querySelector('#sheet-approve form').requestSubmit()")
    for page in pages:
        expect(page.locator("#outcome")).to_be_visible()
    return answers


def test_the_keyboard_alone(visit: Visit, stage: Stage) -> None:
    asked = [stage.ask(decide_within=seconds) for seconds in (100, 200, 300)]
    page = visit(stage.bob).page
    page.goto(address(stage, asked[0]))
    page.keyboard.press("j")
    expect(page).to_have_url(re.compile(str(asked[1].id)))
    page.keyboard.press("k")
    expect(page).to_have_url(re.compile(str(asked[0].id)))
    expect(page.locator("[data-gate]")).to_be_enabled()
    page.keyboard.press("a")
    expect(page.get_by_role("dialog")).to_be_visible()
    expect(page.get_by_role("dialog").get_by_label("Note")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    assert stage.fresh(asked[0]).state == "pending"  # no letter decides
    page.keyboard.press("a")
    expect(page.get_by_role("dialog").get_by_label("Note")).to_be_focused()
    page.keyboard.type("fine, all of it")  # letters typed are words
    page.keyboard.press("Control+Enter")
    expect(page.locator("#outcome h2")).to_have_text("Done, and confirmed")


@pytest.mark.parametrize("script", [True, False])
@pytest.mark.parametrize(
    ("opens", "then"), [("Reject", "Reject request"), ("Changes", "Ask for changes")]
)
def test_a_reason_that_is_missing_is_told_in_the_sheet_where_it_was_typed(
    visit: Visit, stage: Stage, script: bool, opens: str, then: str
) -> None:
    page = visit(stage.bob, java_script_enabled=script).page
    page.goto(address(stage, stage.ask()))
    page.get_by_role("button", name=opens).click()
    sheet = page.get_by_role("dialog")
    place = sheet.bounding_box()
    assert place
    sheet.get_by_role("textbox").fill("  ")
    sheet.get_by_role("button", name=then).click()
    expect(sheet.locator(".field", has_text="A reason is needed")).to_be_visible()
    expect(sheet.get_by_role("textbox")).to_be_focused()
    assert page.locator(".error").count() == 1
    again = sheet.bounding_box()
    assert again
    assert (again["x"], again["width"]) == (place["x"], place["width"])
    sheet.get_by_role("textbox").fill("Not this month.")
    sheet.get_by_role("button", name=then).click()
    expect(page.locator("#outcome")).to_contain_text("Not this month.")


CLOSED_AND_PRESSED = """() => {
  const sheet = document.getElementById("sheet-approve"), note = sheet.querySelector("textarea");
  sheet.hidePopover();
  note.dispatchEvent(new KeyboardEvent("keydown", { key: "a", bubbles: true, cancelable: true }));
}"""


def test_the_letter_leads_to_the_form_that_came_back(
    visit: Visit, stage: Stage
) -> None:
    request, page = stage.ask(), visit(stage.bob).page
    page.goto(address(stage, request))
    page.keyboard.press("r")
    expect(page.get_by_role("dialog").get_by_label("Your reason")).to_be_focused()
    page.keyboard.type("  ")
    page.keyboard.press("Control+Enter")
    field = page.get_by_role("dialog").get_by_label("Your reason")
    expect(field).to_be_focused()
    expect(field).to_have_value("  ")
    page.locator("#case-title").focus()
    for _ in range(2):  # the second time the place is in the address already
        page.keyboard.press("r")
        expect(field).to_be_focused()
        page.locator("#case-title").focus()
    expect(page.locator(".sheet:popover-open")).to_have_count(0)
    page.get_by_role("link", name="Reject").click()
    expect(field).to_be_focused()
    page.keyboard.type("Not this month.")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("Rejected by Bob").first).to_be_visible()


def test_a_sheet_that_was_just_closed_takes_no_letters(
    visit: Visit, stage: Stage
) -> None:
    """It may still have the focus, for as long as the page has not been drawn anew."""
    page = visit(stage.bob).page
    page.goto(address(stage, stage.ask()))
    expect(page.locator("[data-gate]")).to_be_enabled()
    page.keyboard.press("a")
    expect(page.get_by_role("dialog").get_by_label("Note")).to_be_focused()
    page.evaluate(CLOSED_AND_PRESSED)
    expect(page.get_by_role("dialog")).to_be_visible()


def test_approving_opens_only_once_all_of_it_was_shown(
    visit: Visit, stage: Stage
) -> None:
    request = stage.ask(arguments={**ARGUMENTS, "lines": [{"a": n} for n in range(90)]})
    page = visit(stage.bob).page
    page.goto(address(stage, request))
    gate = page.locator("[data-gate]")
    expect(gate).to_be_disabled()
    expect(gate).to_contain_text("Read all of it first")
    gate.click(force=True)  # it leads to what is still to be read, and opens nothing
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect(gate).to_be_enabled()
    gate.click()
    expect(page.get_by_role("dialog")).to_be_visible()


BESIDE = """frame => [...frame.querySelectorAll("*")].filter(part =>
  part.getBoundingClientRect().right > frame.getBoundingClientRect().right + 1 ||
  (part.scrollWidth > part.clientWidth + 1 && part.clientWidth &&
   getComputedStyle(part).overflowX !== "visible")).map(part => part.outerHTML)"""


@pytest.mark.parametrize("width", [1440, 768, 360])
@pytest.mark.parametrize("keys", [3, 6, 7, 12])
def test_no_argument_is_beside_the_frame(
    visit: Visit, stage: Stage, width: int, keys: int
) -> None:
    """Whoever names the keys could otherwise put one where nobody looks."""
    line = {f"{n}_which_pays_to_whom": "4711 0815 and so on" for n in range(keys)}
    line |= {"k" * 120: "x" * 400} if keys == 3 else {}
    request = stage.ask(arguments={**ARGUMENTS, "lines": [line, line]})
    page = visit(stage.bob, viewport={"width": width, "height": 900}).page
    page.goto(address(stage, request))
    assert page.locator(".exact").evaluate(BESIDE) == []


def test_without_script_everything_still_works(
    visit: Visit, stage: Stage, company: ToolServer
) -> None:
    request = stage.ask()
    page = visit(stage.bob, java_script_enabled=False).page
    page.goto(address(stage))
    page.get_by_role("link", name=request.title).click()
    page.get_by_role("button", name="Approve").click()
    page.get_by_role("dialog").get_by_role("button", name="Approve and send").click()
    expect(page.locator("#outcome")).to_be_visible()
    wait_until(lambda: is_confirmed(page))
    assert company.calls() == 1


def is_confirmed(page: Page) -> bool:
    """As somebody without script finds out: by loading the page again."""
    page.reload()
    return page.locator("#outcome h2").inner_text() == "Done, and confirmed"


def test_the_list_is_live(visit: Visit, stage: Stage) -> None:
    page = visit(stage.bob).page
    page.goto(address(stage))
    expect(page.get_by_text("No request is open")).to_be_visible()
    request = stage.ask()
    expect(page.get_by_role("link", name=request.title)).to_be_visible()
    stage.answer(request, by=stage.reviewer())
    expect(page.get_by_text("No request is open")).to_be_visible()


def test_the_digest_is_recomputed_in_the_browser(visit: Visit, stage: Stage) -> None:
    page = visit(stage.bob).page
    page.goto(address(stage, stage.ask(target="Zürich \U0001f3e6")))
    page.get_by_role("button", name="Verify here").click()
    expect(page.locator("[data-verdict]")).to_have_text("Recomputed here: the same")


def test_an_agents_text_runs_nowhere(visit: Visit, stage: Stage) -> None:
    """The visitor fails on any dialog, script error or breach of the policy."""
    text = '"><script>alert(1)</script><img src=x onerror=alert(1)>\u202e'
    request = stage.ask(
        arguments={"payee": text, "amount": "1.00"},
        explanation=text,
        target={text: text},
    )
    page = visit(stage.bob).page
    for path in (address(stage), address(stage, request)):
        page.goto(path)
        expect(page.get_by_text("U+202E").first).to_be_visible()
    assert page.locator("img").count() == 0


def test_a_refusal_is_shown_to_whoever_approved(
    visit: Visit, stage: Stage, company: ToolServer
) -> None:
    """Policy is tightened before the last key's effect: nothing is sent."""
    stage.policy(wait=2)
    request, page = stage.ask(), visit(stage.bob).page
    page.goto(address(stage, request))
    press(page, "Approve", "Approve and send")
    expect(page.locator("#outcome h2")).to_have_text("Approved, and waiting")
    stage.policy("tight", rules=[{"approvals": 2}])
    expect(page.locator("#outcome h2")).to_have_text("Not sent", timeout=20_000)
    expect(page.locator("#outcome")).to_contain_text("authority.policy_changed")
    assert company.calls() == 0


def test_an_approval_is_taken_back(
    visit: Visit, stage: Stage, company: ToolServer
) -> None:
    stage.policy(wait=3600)
    request, page = stage.ask(), visit(stage.bob).page
    page.goto(address(stage, request))
    press(page, "Approve", "Approve and send")
    page.get_by_label("Why you revoke").fill("Wrong payee")
    page.get_by_role("button", name="Revoke").click()
    expect(page.get_by_text("The approval was revoked").first).to_be_visible()
    assert (stage.fresh(request).state, company.calls()) == ("revoked", 0)
