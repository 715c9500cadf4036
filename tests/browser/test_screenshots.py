"""Pictures of every page, to be looked at: `make screenshots`."""

from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import Visit
from tests.browser.gallery import Gallery

ROOT = Path(__file__).resolve().parents[2]
WIDTHS = {"wide": (1440, 900), "tablet": (768, 1024), "phone": (375, 812)}


@pytest.mark.screenshots
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_pictures(visit: Visit, gallery: Gallery, width: str, scheme: str) -> None:
    wide, high = WIDTHS[width]
    size = {"width": wide, "height": high}
    folder = ROOT / "var" / "screenshots" / f"{width}-{scheme}"
    folder.mkdir(parents=True, exist_ok=True)
    owner = gallery.stage.house.alice
    for reader, pages in ((gallery.reader, gallery.pages), (owner, gallery.owned)):
        page = visit(reader, viewport=size, color_scheme=scheme).page
        for name, path in pages.items():
            page.goto(path, wait_until="load")
            page.screenshot(path=folder / f"{name}.png")
            _open_sheets(page, folder, name)
            _try_a_policy(page, folder, name)


def _open_sheets(page: Page, folder: Path, name: str) -> None:
    """The second steps of one case."""
    if name != "case-two-keys":
        return
    for sheet in ("approve", "reject", "respond"):
        page.evaluate(f"document.getElementById('sheet-{sheet}').showPopover()")
        page.screenshot(path=folder / f"sheet-{sheet}.png")
        page.evaluate(f"document.getElementById('sheet-{sheet}').hidePopover()")


def _try_a_policy(page: Page, folder: Path, name: str) -> None:
    """From the editor: first a flaw, then what would change."""
    if name != "policy-edit":
        return
    selector = page.get_by_label("Which actions")
    for picture, text in (("flaw", "tool == 'pay' && amuont > 3"), ("trial", "true")):
        selector.fill(text)
        page.get_by_role("button", name="Try it").click()
        page.wait_for_load_state("load")
        page.screenshot(path=folder / f"policy-{picture}.png", full_page=True)
