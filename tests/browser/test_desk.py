"""The desk besides deciding: what comes in while one reads, folds, print, hands, widths."""

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from approvals.models import Request
from approvals.services.remarks import comment, take
from approvals.services.revoke import revoke
from approvals.services.saved_views import save_view
from oversight.presentation.trace import LANES
from tests.approvals.stage import ARGUMENTS, Stage, fresh_stage
from tests.browser.conftest import Visit
from tests.browser.gallery import Gallery
from tests.browser.test_together import tagging

ARABIC = "تحويل إلى مورد جديد، حساب رقم ١٢٣ — " * 3
PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True}


def open_case(visit: Visit, stage: Stage, request: Request, **options: Any) -> Page:
    page = visit(stage.bob, **options).page
    page.goto(f"/t/{stage.house.tenant.slug}/queue/{request.id}")
    return page


SEEN_WHOLE = """(part) => {
  const { top, bottom } = part.getBoundingClientRect();
  const pane = part.closest("#rows, #case-scroll").getBoundingClientRect();
  return top >= pane.top && bottom <= pane.bottom;
}"""


def test_a_laptop_shows_ten_rows_the_reason_and_the_exact_action(visit: Visit) -> None:
    """Before anything is scrolled, where the pattern that it began with had eight."""
    stage = fresh_stage()
    stage.policy(summary="What moves money needs somebody.")
    first, *_ = [stage.ask() for _ in range(12)]
    page = open_case(visit, stage, first, viewport={"width": 1440, "height": 900})
    rows = page.locator(".req").all()
    assert sum(row.evaluate(SEEN_WHOLE) for row in rows) >= 10
    for part in (".case__why", ".exact"):
        assert page.locator(part).evaluate(SEEN_WHOLE), part


def test_what_others_say_comes_in_and_takes_nothing_away(visit: Visit) -> None:
    stage = fresh_stage()
    request, carol = stage.ask(), stage.reviewer()
    page = open_case(visit, stage, request)
    mine = page.get_by_label("Comment")
    mine.fill("I would rather")
    comment(carol.person, request_id=request.id, text="Ask the supplier first.")
    take(carol.person, request_id=request.id)
    expect(page.locator("#timeline")).to_contain_text("Ask the supplier first.")
    expect(page.locator("#taken")).to_contain_text("Carol is on it")
    expect(mine).to_be_focused()
    expect(mine).to_have_value("I would rather")
    expect(page.locator("[data-fresh]")).to_be_hidden()  # what is asked is the same


def test_a_fold_stays_open_while_the_list_is_drawn_anew(visit: Visit) -> None:
    stage, asked = tagging()
    page = visit(stage.bob).page
    page.goto(f"/t/{stage.house.tenant.slug}/queue")
    hidden = page.locator(f"#req-{asked[2].id}")
    expect(hidden).to_be_hidden()
    page.get_by_text("2 more alike").click()
    expect(hidden).to_be_visible()
    stage.ask(tool="tag", arguments={"tag": "new"})
    expect(page.get_by_text("3 more alike")).to_be_visible()
    expect(hidden).to_be_visible()


def test_the_focus_stays_while_the_list_is_drawn_anew(visit: Visit) -> None:
    """On what had it, and where that is gone, on the list: never back at the top."""
    stage, asked = tagging()
    page = visit(stage.bob).page
    page.goto(f"/t/{stage.house.tenant.slug}/queue")
    facet = page.get_by_label("Filter by risk").get_by_role("link").last
    facet.focus()
    stage.ask(tool="tag", arguments={"tag": "new"})
    expect(page.locator(".list h2 .count")).to_have_text(str(len(asked) + 1))
    expect(facet).to_be_focused()
    lone = stage.ask()
    link = page.locator(f"#req-{lone.id}")
    link.focus()
    stage.answer(lone)
    expect(link).to_have_count(0)
    expect(page.locator("#list")).to_be_focused()


def test_no_refresh_scrolls_back_to_a_place_in_the_page(visit: Visit) -> None:
    """Such as the one that an address led to, or the link that skips to the content."""
    stage = fresh_stage()
    page = visit(stage.bob, **PHONE).page
    page.goto(f"/t/{stage.house.tenant.slug}/queue/{stage.ask().id}#h-facts")
    page.evaluate("scrollTo(0, 0)")
    stage.ask()
    expect(page.locator("#count-q")).to_have_text("2")
    assert page.evaluate("scrollY") == 0


def test_a_view_that_was_saved_elsewhere_comes_in_with_the_list(visit: Visit) -> None:
    stage = fresh_stage()
    page = visit(stage.bob).page
    page.goto(f"/t/{stage.house.tenant.slug}/queue")
    way = page.get_by_role("link", name="Expires within 1 hour")
    way.focus()
    save_view(stage.bob.person, name="Grave", query="risk=high", default=True)
    stage.ask()
    expect(page.locator("#views")).to_contain_text("Grave 1")
    expect(way).to_be_focused()


def test_the_focus_stays_on_the_case_whose_button_is_gone(visit: Visit) -> None:
    stage = fresh_stage()
    stage.policy(wait=3_600)
    request = stage.ask()
    stage.answer(request)
    page = open_case(visit, stage, request)
    button = page.get_by_role("button", name="Revoke").first
    button.focus()
    revoke(stage.bob.person, request_id=request.id, reason="The wrong month.")
    expect(button).to_have_count(0)
    expect(page.locator("#case")).to_be_focused()


def test_what_was_approved_together_is_taken_back(visit: Visit) -> None:
    stage, asked = tagging()
    stage.policy(wait=3_600)
    asked = [stage.ask(tool="tag", arguments={"x": n}) for n in range(2)]
    for one in asked:
        stage.answer(one)
    page = visit(stage.bob).page
    page.goto(f"/t/{stage.house.tenant.slug}/queue?view=decided&mine=1")
    for box in page.locator("input[name=pick]").all():
        box.check()
    page.get_by_role("button", name="Revoke ticked").click()
    expect(page.get_by_text("of waiting left").first).to_be_visible()
    page.get_by_label("Revoke REQ").last.uncheck()
    page.get_by_label("Why you revoke").fill("The wrong month.")
    page.get_by_role("button", name="Revoke what is ticked").click()
    expect(page.locator("h1")).to_have_text("1 revoked")
    states = sorted(stage.fresh(one).state for one in asked)
    assert states == ["approved", "revoked"]


def test_the_wait_is_counted_down_beside_the_way_back(visit: Visit) -> None:
    stage = fresh_stage()
    stage.policy(wait=3_600)
    request = stage.ask()
    stage.answer(request)
    page = open_case(visit, stage, request)
    left = page.locator(".progress .countdown time").first
    expect(left).to_have_text(re.compile(r"^(59 min|1 h)$"))
    expect(left).to_have_attribute("title", re.compile(r"\d{4}.*(UTC|GMT)"))
    expect(page.get_by_role("button", name="Revoke")).to_be_visible()


def test_a_case_is_printed_whole_and_without_what_is_pressed(visit: Visit) -> None:
    stage = fresh_stage()
    stage.policy(rules=[{"approvals": 2}])
    request = stage.ask()
    stage.answer(request, reason="Seen on paper.")
    page = open_case(visit, stage, request, color_scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    digest = stage.digest(request).hex()
    for text in (digest, '"nonce"', "Seen on paper.", "Halden Paper Supply"):
        expect(page.locator(".case").get_by_text(text).first).to_be_visible()
    for gone in (".side", ".masthead", ".list", ".decide", ".case form", ".case__bar"):
        for part in page.locator(gone).all():
            expect(part).to_be_hidden()
    assert page.locator(".case button:visible").count() == 0
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == (
        "light"
    )
    assert len(page.pdf()) > 10_000


def test_a_trace_is_printed_whole(visit: Visit, gallery: Gallery) -> None:
    """On paper of any width the graph goes downwards, so that none of it is cut."""
    page = visit(gallery.reader, viewport={"width": 1440, "height": 900}).page
    page.goto(gallery.pages["trace"])
    expect(page.locator(".graph__wide")).to_be_visible()
    page.emulate_media(media="print")
    expect(page.locator(".graph__wide")).to_be_hidden()
    expect(page.locator(".graph__tall")).to_be_visible()
    expect(page.get_by_role("heading", name="The same in words")).to_be_visible()
    for part in page.locator(".side, .masthead, .btn").all():
        expect(part).to_be_hidden()
    assert page.evaluate(OVERFLOW) == 0


def test_the_lanes_of_a_trace_keep_their_names(visit: Visit, gallery: Gallery) -> None:
    """Wherever it is scrolled to: at first, to its end."""
    page = visit(gallery.reader, viewport={"width": 1280, "height": 900}).page
    page.goto(gallery.pages["trace"])
    graph, names = page.locator(".graph__wide"), page.locator(".graph__lanes text")
    assert graph.evaluate("box => box.scrollWidth > box.clientWidth + 100")
    assert names.count() == len(LANES)
    for place in (None, "-1e6", "1e6"):
        if place:
            graph.evaluate(f"box => box.scrollTo({place}, 0)")
        for name in names.all():
            expect(name).to_be_in_viewport(ratio=1)
    page.locator(".graph__wide .g-node").first.focus()
    assert page.evaluate(COVERED) is False
    hint = page.locator(".graph__hint")
    expect(hint).to_be_visible()
    page.set_viewport_size({"width": 360, "height": 740})
    expect(hint).to_be_hidden()


# Whether the names of the lanes stand before what has the focus.
COVERED = """() => document.activeElement.getBoundingClientRect().left
    < document.querySelector(".graph__lanes").getBoundingClientRect().right"""


def test_arrows_of_a_trace_have_heads(visit: Visit, gallery: Gallery) -> None:
    """In both of its pictures: across, and downwards."""
    page = visit(gallery.reader, viewport={"width": 1280, "height": 900}).page
    page.goto(gallery.pages["trace"])
    for width in (1280, 375):
        page.set_viewport_size({"width": width, "height": 812})
        assert page.evaluate(LENT) == ["tip", "tip-key"]


# Markers whose own picture is displayed: only these are drawn where they are named.
LENT = """() => [...document.querySelectorAll("marker")]
    .filter(one => one.closest("svg").checkVisibility()).map(one => one.id)"""


OVERFLOW = """() => document.documentElement.scrollWidth
    - document.documentElement.clientWidth"""


@pytest.mark.parametrize("width", [360, 768, 1440, 3840])
def test_text_from_right_to_left_stays_in_its_place(visit: Visit, width: int) -> None:
    stage = fresh_stage()
    request = stage.ask(
        arguments={**ARGUMENTS, "payee": ARABIC}, explanation=ARABIC, target=ARABIC
    )
    viewport = {"width": width, "height": 2160 if width > 2000 else 900}
    page = open_case(visit, stage, request, viewport=viewport)
    assert page.evaluate(OVERFLOW) == 0
    expect(page.locator(".exact").get_by_text("amount")).to_be_visible()
    # What stands beside it keeps its own direction and its place at the left.
    frame, foot = box(page.locator(".exact")), box(page.locator(".exact__foot > span"))
    assert foot["x"] - frame["x"] < 40
    title = page.locator("#case-title")
    assert title.evaluate("one => getComputedStyle(one).direction") == "ltr"


def box(part: Locator) -> dict[str, float]:
    found = part.first.bounding_box()
    assert found
    return dict(found)  # type: ignore[arg-type]


SMALL = """least => [...document.querySelectorAll(
    "button, .btn, input:not([type=hidden]), select, textarea, summary, .side__item")]
  .filter(one => one.checkVisibility() && !one.closest(".sr"))
  .map(one => [one.closest("label") ?? one, one])
  .map(([part, one]) => [part.getBoundingClientRect(), one])
  .filter(([at]) => at.width && (at.width < least || at.height < least))
  .map(([at, one]) => `${Math.round(at.width)}x${Math.round(at.height)} ${one.outerHTML}`)"""


def test_a_finger_hits_what_it_aims_at(visit: Visit) -> None:
    """24 px is what WCAG 2.2 asks of anything; the answers themselves have 40."""
    stage, _ = tagging()
    request = stage.ask()
    page = open_case(visit, stage, request, **PHONE)
    assert page.evaluate(SMALL, 24) == []
    for button in page.locator(".decide .btn").all():
        assert box(button)["height"] >= 40
    page.goto(f"/t/{stage.house.tenant.slug}/queue")
    assert page.evaluate(SMALL, 24) == []


MOVING = """() => document.getAnimations()
  .filter(one => one.effect.getComputedTiming().activeDuration > 1)
  .map(one => one.effect.target.outerHTML)"""


def test_nothing_moves_for_whom_motion_is_too_much(visit: Visit) -> None:
    stage = fresh_stage()
    stage.policy(wait=3_600)
    request = stage.ask()
    stage.answer(request)
    page = open_case(visit, stage, request)
    expect(page.locator("#outcome h2")).to_have_text("Approved, and waiting")
    assert page.evaluate(MOVING)  # something turns while it waits
    still = open_case(visit, stage, request, reduced_motion="reduce")
    expect(still.locator("#outcome h2")).to_have_text("Approved, and waiting")
    assert still.evaluate(MOVING) == []


FOCUSED = """() => {
  const one = document.activeElement;
  if (!one || one === document.body) return null;
  const at = one.getBoundingClientRect(), look = getComputedStyle(one);
  const ring = one.matches(".req__link") ? getComputedStyle(one.closest(".req")) : look;
  return {
    place: [...document.querySelectorAll("*")].indexOf(one),
    seen: one.checkVisibility() && at.width > 0,
    ring: ring.outlineStyle !== "none" && parseFloat(ring.outlineWidth) > 0,
    html: one.outerHTML.slice(0, 120),
  };
}"""


def test_tab_goes_through_the_desk_in_reading_order(visit: Visit) -> None:
    """Once, from the skip link to the end; each stop can be seen, and none is a trap."""
    stage, _ = tagging()
    request = stage.ask()
    page = open_case(visit, stage, request)
    stops: list[dict[str, Any]] = []
    for _ in range(150):
        page.keyboard.press("Tab")
        stop = page.evaluate(FOCUSED)
        if stop is None or (stops and stop["place"] == stops[0]["place"]):
            break
        stops.append(stop)
    assert 'class="skip"' in stops[0]["html"]
    assert 30 < len(stops) < 150
    places = [stop["place"] for stop in stops]
    assert places == sorted(places)
    assert [stop["html"] for stop in stops if not (stop["seen"] and stop["ring"])] == []
    names = " ".join(stop["html"] for stop in stops)
    for part in ("req__link", "sheet-approve", "sheet-reject", "comment-text"):
        assert part in names


def test_times_are_in_the_readers_own_zone(visit: Visit) -> None:
    stage = fresh_stage()
    request = stage.ask()
    zone = {"timezone_id": "Pacific/Auckland", "locale": "en-GB"}
    page = open_case(visit, stage, request, **zone)
    asked = page.locator(".case__by time")
    expect(asked).to_have_text("just now")
    expect(asked).to_have_attribute("title", re.compile(r"GMT\+1[23]|NZ[SD]T"))
    until = page.locator(".case__marks .countdown time").last
    here = page.evaluate(
        "at => new Date(at).toLocaleString([], {day: 'numeric', month: 'short',"
        " hour: '2-digit', minute: '2-digit', hourCycle: 'h23'})",  # it is tomorrow
        until.get_attribute("datetime"),
    )
    expect(until).to_have_text(here)


def test_a_phone_in_the_dark_decides(visit: Visit) -> None:
    """360 px, fingers, no keyboard: from the list to the outcome."""
    stage = fresh_stage()
    request = stage.ask(arguments={**ARGUMENTS, "lines": [{"a": n} for n in range(40)]})
    page = visit(stage.bob, color_scheme="dark", **PHONE).page
    page.goto(f"/t/{stage.house.tenant.slug}/queue")
    page.get_by_role("link", name=request.title).tap()
    gate = page.locator("[data-gate]")
    expect(gate).to_contain_text("Read all of it first")
    gate.tap(force=True)  # leads to what is still to be read
    expect(gate).to_contain_text("Approve")
    gate.tap()
    page.get_by_role("dialog").get_by_role("button", name="Approve").tap()
    expect(page.locator("#outcome")).to_be_focused()
    assert page.evaluate(OVERFLOW) == 0
    assert stage.fresh(request).state == "approved"
    ink, paper = (
        page.evaluate(f"getComputedStyle(document.body).{name}")
        for name in ("color", "backgroundColor")
    )
    assert (ink, paper) == ("rgb(236, 238, 237)", "rgb(13, 16, 17)")


def test_a_phone_answers_what_asks_for_an_answer(visit: Visit) -> None:
    """What can be pressed lies under nothing that cannot."""
    stage = fresh_stage()
    page = open_case(visit, stage, stage.ask(allowed=["respond"]), **PHONE)
    page.get_by_role("button", name="Respond").click()
    expect(page.get_by_role("dialog")).to_be_visible()
