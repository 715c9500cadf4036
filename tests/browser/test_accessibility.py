"""axe-core on every page of the gallery, in both themes: no violation, of any kind."""

from collections.abc import Iterable
from typing import Any, Literal
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.urls import resolve
from playwright.sync_api import Page, ViewportSize, expect

from tests.approvals.stage import fresh_stage
from tests.approvals.views.test_strangers import PAGES
from tests.browser.conftest import Visit
from tests.browser.gallery import Gallery
from tests.factories import Somebody

AXE = Axe()
type Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
COLOURS = ("color-contrast", "link-in-text-block")  # axe's rules about them
DESK: ViewportSize = {"width": 1280, "height": 720}
PHONE: ViewportSize = {"width": 360, "height": 740}
PLAIN = 3  # slashes in the address of a list: /t/{slug}/{name}
SHEETS = """[...document.querySelectorAll(".sheet")].map(sheet => sheet.id)"""


# What answers no page of ours, or leads to one.
NO_PAGES = {
    *("tenant", "ahead", "stream", "file", "trace_json", "trace_agentack"),
    *("workflow_export", "verify_bundle", "rights_then_json"),
    *("verify_export", "audit_keys", "audit_anchors"),
}


def test_no_page_is_missing_from_the_gallery(gallery: Gallery) -> None:
    """Whoever adds an address shows its page there, and so has it looked at."""
    shown = [*gallery.pages.values(), *gallery.owned.values()]
    named = {resolve(urlsplit(path).path).url_name for path in shown}
    looked_at = {name for name, page in PAGES.items() if "GET" in page.methods}
    assert looked_at - named == NO_PAGES


@pytest.mark.parametrize("whose", ["reader", "owner"])
def test_no_page_has_a_violation(visit: Visit, gallery: Gallery, whose: str) -> None:
    """Each is loaded once, and looked at in both themes and as a phone shows it."""
    theirs = {
        "reader": (gallery.reader, gallery.pages),
        "owner": (gallery.stage.house.alice, gallery.owned),
    }
    who, pages = theirs[whose]
    page = visit(who).page
    found = {name: wherever_broken(page, path) for name, path in pages.items()}
    assert {name: said for name, said in found.items() if said} == {}


def wherever_broken(page: Page, path: str) -> list[str]:
    """What is broken in either theme, and in the window of a phone.

    A theme is other colours and nothing else: the second one is asked about them alone.
    """
    page.set_viewport_size(DESK)
    page.emulate_media(color_scheme="light")
    page.goto(path, wait_until="load")
    page.evaluate(AXE.axe_script)
    said = [f"light, {one}" for one in spoken_by_axe(page)]
    page.emulate_media(color_scheme="dark")
    said += [f"dark, {one}" for one in spoken_by_axe(page, COLOURS)]
    page.set_viewport_size(PHONE)
    if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
        said.append("it is wider than a phone")
    return said + [f"phone, {one}" for one in spoken_by_axe(page)]


def test_an_empty_tenant_has_no_violation(visit: Visit, gallery: Gallery) -> None:
    owner = fresh_stage().house.alice
    pages = [path for path in gallery.owned.values() if path.count("/") == PLAIN]
    pages += [gallery.pages[name] for name in ("queue", "runs", "workflows")]
    theirs = [path.replace(gallery.reader.slug, owner.slug) for path in pages]
    assert len(theirs) > 8
    assert broken_on(visit, owner, [*theirs, "/t/nobody/queue"]) == {}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_way_in_has_no_violation(visit: Visit, scheme: Any) -> None:
    paths = ["/accounts/login/", "/accounts/password/reset/", "/nothing/here"]
    paths += ["/accounts/sso/", "/accounts/sso/?slug=nobody"]
    assert broken_on(visit, None, paths, color_scheme=scheme) == {}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_no_second_step_has_a_violation(
    visit: Visit, gallery: Gallery, scheme: Any
) -> None:
    page = visit(gallery.reader, color_scheme=scheme).page
    page.goto(gallery.pages["case-two-keys"], wait_until="load")
    found = {}
    for sheet in page.evaluate(SHEETS):
        page.evaluate(f"document.getElementById({sheet!r}).showPopover()")
        found[sheet] = violations(page)
        page.evaluate(f"document.getElementById({sheet!r}).hidePopover()")
    assert len(found) > 4
    assert {sheet: said for sheet, said in found.items() if said} == {}


def test_what_comes_back_with_errors_has_no_violation(
    visit: Visit, gallery: Gallery
) -> None:
    """A form that was not accepted, without a browser's own check before it."""
    page = visit(gallery.reader, java_script_enabled=True).page
    page.goto(gallery.pages["case-small"], wait_until="load")
    page.evaluate("document.getElementById('comment-text').required = false")
    page.get_by_role("button", name="Comment").click()
    expect(page.get_by_text("A comment has 1 to 4,000 characters.")).to_be_visible()
    assert violations(page) == []


def test_axe_would_tell(visit: Visit, gallery: Gallery) -> None:
    """The test of the tests: a field without its label is a violation."""
    page = visit(gallery.reader).page
    page.goto(gallery.pages["queue"], wait_until="load")
    page.evaluate("document.querySelector('label[for=find]').remove()")
    page.evaluate("document.getElementById('find').removeAttribute('placeholder')")
    assert any(said.startswith("label:") for said in violations(page))


def broken_on(
    visit: Visit, reader: Somebody | None, paths: Iterable[str], **options: Any
) -> dict[str, list[str]]:
    """What is broken on these pages, by their addresses."""
    page, found = visit(reader, **options).page, {}
    for path in paths:
        page.goto(path, wait_until="load")
        found[path] = violations(page)
    return {path: said for path, said in found.items() if said}


def violations(page: Page) -> list[str]:
    """One line each: the rule, and where it is broken."""
    page.evaluate(AXE.axe_script)
    return spoken_by_axe(page)


def spoken_by_axe(page: Page, only: tuple[str, ...] = ()) -> list[str]:
    """The same, of a page that has axe in it already; of some rules, or of all."""
    options = {
        "resultTypes": ["violations"],
        **({"runOnly": list(only)} if only else {}),
    }
    response = page.evaluate("options => axe.run(options)", options)
    return [
        f"{one['id']}: {node['target']} {node['failureSummary']}"
        for one in response["violations"]
        for node in one["nodes"]
    ]
