"""A real browser before a real installation. Every page is watched for what it breaks.

`installation` runs for the tests of this folder only: elsewhere its worker would take
the jobs that tests mean to work on themselves.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

if TYPE_CHECKING:
    from tests.browser.gallery import Gallery
    from tests.browser.visitor import Visitor
    from tests.factories import Somebody
    from tests.installation import Installation

HERE = Path(__file__).parent
# A worker and three programs share two cores with the browser; waiting ends when it is so.
expect.set_options(timeout=20_000)


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.browser)
            # One process builds the gallery, and not each that is dealt one of these.
            if "gallery" in getattr(item, "fixturenames", ()):
                item.add_marker(pytest.mark.xdist_group("gallery"))


@pytest.fixture(scope="package")
def installation(django_db_setup: None) -> Iterator["Installation"]:
    """Web, worker and beat, ended with this folder's last test."""
    from tests.database import begin_anew
    from tests.installation import running_installation

    begin_anew()
    with running_installation() as running:
        yield running


@pytest.fixture(scope="package")
def chromium(installation: "Installation") -> Iterator[Browser]:
    """After the installation, whose database is made where no loop runs: inside one
    there are other connections."""
    from tests.database import disconnect

    program = os.environ.get("CHROMIUM") or shutil.which("chromium")
    # Playwright's synchronous calls run inside a loop; our own queries do not care.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        disconnect()
        browser.close()
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@pytest.fixture(scope="package")
def gallery(installation: "Installation") -> Iterator["Gallery"]:
    """One tenant with something on every page; looked at, and changed by nobody."""
    from tests.approvals.tool_server import ToolServer
    from tests.browser.gallery import open_gallery

    server = ToolServer()
    yield open_gallery(server.definition())
    server.close()


type Visit = Callable[..., "Visitor"]


@pytest.fixture
def visit(chromium: Browser, installation: "Installation") -> Iterator[Visit]:
    """A browser of their own for somebody who is signed in, or for nobody yet.

    What the console says of broken policies or scripts fails the test in the end.
    """
    from tests.browser.visitor import Visitor

    visitors: list[Visitor] = []

    def new(somebody: "Somebody | None" = None, **options: object) -> Visitor:
        options.setdefault("base_url", installation.url)
        context = chromium.new_context(**options)  # type: ignore[arg-type]
        visitors.append(Visitor(context, installation.url, somebody))
        return visitors[-1]

    yield new
    broken = [said for one in visitors for said in one.broken]
    for one in visitors:
        one.close()
    assert not broken, broken


@pytest.fixture
def page(visit: Visit) -> Page:
    return visit().page
