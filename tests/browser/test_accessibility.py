"""axe-core on every page of the gallery, in both themes: no violation, of any kind."""

from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.urls import resolve
from playwright.sync_api import Page, expect

from tests.approvals.stage import fresh_stage
from tests.approvals.views.test_strangers import PAGES
from tests.browser.conftest import Visit
from tests.browser.gallery import Gallery
from tests.factories import Somebody

AXE = Axe()
SCHEMES = ("light", "dark")
PHONE: Any = {"width": 360, "height": 740}
PLAIN = 3  # slashes in the address of a list: /t/{slug}/{name}
SHEETS = """[...document.querySelectorAll(".sheet")].map(sheet => sheet.id)"""


# What answers no page of ours, or leads to one.
NO_PAGES = {
    *("tenant", "stream", "file", "trace_json", "trace_agentack"),
    *("workflow_export", "verify_bundle", "rights_then_json"),
}


def test_no_page_is_missing_from_the_gallery(gallery: Gallery) -> None:
    """Whoever adds an address shows its page there, and so has it looked at."""
    shown = [*gallery.pages.values(), *gallery.owned.values()]
    named = {resolve(urlsplit(path).path).url_name for path in shown}
    looked_at = {name for name, page in PAGES.items() if "GET" in page.methods}
    assert looked_at - named == NO_PAGES


@pytest.mark.parametrize("scheme", SCHEMES)
def test_no_page_has_a_violation(visit: Visit, gallery: Gallery, scheme: Any) -> None:
    owner = gallery.stage.house.alice
    read = broken_on(visit, gallery.reader, gallery.pages.values(), color_scheme=scheme)
    owned = broken_on(visit, owner, gallery.owned.values(), color_scheme=scheme)
    assert {**read, **owned} == {}


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


def test_a_phone_has_no_violation(visit: Visit, gallery: Gallery) -> None:
    pages = gallery.pages.values()
    assert broken_on(visit, gallery.reader, pages, viewport=PHONE) == {}


def test_no_page_is_wider_than_a_phone(visit: Visit, gallery: Gallery) -> None:
    wide = []
    shown = (
        (gallery.reader, gallery.pages),
        (gallery.stage.house.alice, gallery.owned),
    )
    for who, pages in shown:
        page = visit(who, viewport=PHONE).page
        for name, path in pages.items():
            page.goto(path, wait_until="load")
            if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                wide.append(name)
    assert wide == []


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
    response = AXE.run(page).response
    return [
        f"{one['id']}: {node['target']} {node['failureSummary']}"
        for one in response["violations"]
        for node in one["nodes"]
    ]
