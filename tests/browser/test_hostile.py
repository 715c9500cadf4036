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
