"""What a page weighs, and that nothing on it breaks the content security policy."""

from pathlib import Path

import pytest
from playwright.sync_api import Response

from tests.browser.conftest import Visit
from tests.browser.gallery import Gallery

SCRIPTS = Path(__file__).resolve().parents[2] / "static" / "js"
OWN_SCRIPT = 20 * 1024  # bytes, as they are written
FIRST_PAGE = 120 * 1024  # bytes on the wire, with nothing in the browser's cache
INLINE = """() => {
  const script = document.createElement("script");
  script.textContent = "document.title = 'run'";
  document.body.append(script);
}"""


def test_our_own_scripts_are_small() -> None:
    sizes = {one.name: one.stat().st_size for one in SCRIPTS.glob("*.js")}
    assert "case.js" in sizes
    assert sum(sizes.values()) <= OWN_SCRIPT, sizes


@pytest.mark.parametrize("name", ["queue", "case-two-keys"])
def test_a_first_page_is_light(visit: Visit, gallery: Gallery, name: str) -> None:
    page = visit(gallery.reader).page
    answers: list[Response] = []
    page.on("response", lambda one: answers.append(one))
    page.goto(gallery.pages[name], wait_until="load")
    weights = {one.url: weight(one) for one in answers if "/stream" not in one.url}
    assert len(weights) > 10
    assert sum(weights.values()) <= FIRST_PAGE, weights


def weight(answer: Response) -> int:
    """What went over the wire, without heads."""
    return answer.request.sizes()["responseBodySize"]


def test_a_breach_of_the_policy_would_be_noticed(
    visit: Visit, gallery: Gallery
) -> None:
    """Each test of a browser fails on what this one provokes."""
    visitor = visit(gallery.reader)
    visitor.page.goto(gallery.pages["queue"], wait_until="load")
    assert visitor.broken == []
    visitor.page.evaluate(INLINE)
    assert "Content Security Policy" in visitor.broken.pop()
    assert visitor.page.title() != "run"
    visitor.broken.clear()
