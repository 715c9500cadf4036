"""Every hostile text of the corpus in a real browser: inert, contained, and to be seen."""

from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from tests.approvals.stage import fresh_stage
from tests.approvals.views.test_hostile_text import CORPUS, ask
from tests.browser.conftest import Visit

WIDTHS = (1440, 360)
STRAY = """() => ({
  overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  foreign: document.querySelectorAll("img, iframe, object, embed, style, base").length,
  scripts: [...document.scripts].filter(one => !one.src).length,
  beside: [...document.querySelectorAll(".words__text, .exact dd, .case__title")]
    .filter(one => one.getBoundingClientRect().right > innerWidth + 1).length,
})"""
# Where a text that is shown stands in sans serif; what is only read aloud has no look.
IN_OUR_VOICE = """(text) => {
  const all = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = [];
  while (all.nextNode()) {
    const { data, parentElement: part } = all.currentNode;
    const sans = getComputedStyle(part).fontFamily.startsWith("-apple-system");
    if (sans && data.includes(text) && !part.closest(".sr")) found.push(part.outerHTML);
  }
  return found;
}"""
CLEAN = {"overflow": 0, "foreign": 0, "scripts": 0, "beside": 0}


@pytest.mark.parametrize("width", WIDTHS)
def test_the_corpus_runs_nowhere_and_breaks_no_page(visit: Visit, width: int) -> None:
    """The visitor fails on any dialog, script error or breach of the policy."""
    stage = fresh_stage()
    asked = [ask(stage, text) for text in CORPUS.values()]
    page = visit(stage.bob, viewport={"width": width, "height": 900}).page
    went: set[str] = set()
    page.on("request", lambda one: went.add(urlsplit(one.url).netloc))
    home, stray = f"/t/{stage.house.tenant.slug}", {}
    for name, request in zip(CORPUS, asked, strict=True):
        page.goto(f"{home}/queue/{request.id}", wait_until="load")
        expect(page.locator("[data-exact-end]")).to_be_attached()
        stray[name] = page.evaluate(STRAY)
    page.goto(f"{home}/queue", wait_until="load")
    stray["the list"] = page.evaluate(STRAY)
    assert {name: one for name, one in stray.items() if one != CLEAN} == {}
    assert went == {urlsplit(page.url).netloc}


@pytest.mark.parametrize("text", ["✔ Alice saw it", CORPUS["badge"]])
def test_nothing_that_an_agent_writes_stands_in_our_voice(
    visit: Visit, text: str
) -> None:
    """Sans serif is ours: a stranger's words are serif, and exact values monospaced."""
    stage = fresh_stage()
    request = ask(stage, text)
    home, found = f"/t/{stage.house.tenant.slug}", {}
    run, asked = f"runs/{request.run_id}", f"requests/{request.id}"
    overseen = [run, f"{run}/state", f"{run}/session", f"{run}/trace", "runs"]
    decided = [f"queue/{request.id}", f"{asked}/edit", f"{asked}/context"]
    together = f"together?verdict=reject&pick={request.id}"
    for reader, paths in (
        (stage.house.alice, overseen),
        (stage.bob, [*decided, together, "queue"]),
    ):
        page = visit(reader).page
        for path in paths:
            page.goto(f"{home}/{path}", wait_until="load")
            expect(page.get_by_text(text).first).to_be_attached()
            found[path] = page.evaluate(IN_OUR_VOICE, text)
    assert {path: parts for path, parts in found.items() if parts} == {}
