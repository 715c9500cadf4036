"""How soon the next case is on the screen after a decision, in a browser.

The floor is the sign-in page in the same browser, from the same server: what going to
any page costs here and now. A person should not be kept waiting for more than 150 ms.
As a person does, it reads for a moment, opens the step that approves, and confirms.
"""

import os
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

from benchmarks.installation import Doors
from benchmarks.measure import Figure

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

    from approvals.models import Request
    from tests.approvals.stage import Stage

PAINTED = """() => new Promise(done => {
  const read = () => {
    const [paint] = performance.getEntriesByName("first-contentful-paint");
    paint ? done(paint.startTime) : setTimeout(read, 5);
  };
  read();
})"""
# From the press of the button until the frame with the next case was painted, and until
# the one that tells what became of the answer.
NEXT = """() => {
  const before = document.getElementById("case"), pressed = performance.now();
  const main = document.getElementById("main");
  const painted = () => new Promise(done =>
    requestAnimationFrame(() => setTimeout(() => done(performance.now() - pressed))));
  const once = (so) => new Promise(done => {
    const watch = new MutationObserver(() => {
      const now = document.getElementById("case");
      if (now === before || !so(now)) return;
      watch.disconnect();
      done();
    });
    watch.observe(main, { childList: true, subtree: true });
  }).then(painted);
  const told = (now) => !/on its way/.test(now.querySelector("#outcome")?.textContent);
  const both = [once(() => true), once(told)];
  const form = document.querySelector("#sheet-approve form");
  form.querySelector("[name=onward]").checked = true;
  form.requestSubmit();
  return Promise.all(both);
}"""

# Milliseconds that each case is on the screen for: far fewer than it takes to read one,
# and enough for list and stream to come to rest.
READING = 700
# And the step that approves, which repeats the exact action.
CONFIRMING = 500
OPEN = """() => document.querySelector("[data-gate]").click()"""

MEASURED = ("decided → next case painted", "decided → told that it is recorded")
FOLLOWED = """() =>
  document.querySelector(".req__link[aria-current]")?.pathname === location.pathname
"""


def onward(doors: Doors, stage: "Stage", count: int) -> list[Figure]:
    """Nothing where there is no Chromium."""
    program = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if not program:
        return []
    from playwright.sync_api import sync_playwright

    asked = [stage.ask() for _ in range(count + 1)]
    # Playwright's synchronous calls run inside a loop; our own queries do not care.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-gpu"]
        )
        context = browser.new_context(base_url=doors.url)
        floor = _floor(context.new_page(), count)
        figures = [floor, *_decided(context, doors, stage, asked)]
        browser.close()
    return figures


def _floor(page: "Page", count: int) -> Figure:
    times = []
    for _ in range(count):
        page.goto("/accounts/login/")
        times.append(page.evaluate(PAINTED))
    return Figure(name="floor: sign-in page painted", times=tuple(times), rate=0)


def _decided(
    context: "BrowserContext", doors: Doors, stage: "Stage", asked: list["Request"]
) -> Iterator[Figure]:
    """Approve, and be shown the next, until one is left."""
    _sign_in(context, doors, stage)
    page, times = context.new_page(), []
    page.goto(f"/t/{stage.house.tenant.slug}/queue/{asked[0].id}?view=mine")
    for _ in asked[1:]:
        page.wait_for_timeout(READING)
        page.evaluate(OPEN)
        page.wait_for_timeout(CONFIRMING)
        times.append(page.evaluate(NEXT))
        page.wait_for_function(FOLLOWED)
    for name, of in zip(MEASURED, zip(*times, strict=True), strict=True):
        yield Figure(name=name, times=of, rate=0)


def _sign_in(context: "BrowserContext", doors: Doors, stage: "Stage") -> None:
    from django.conf import settings

    session = stage.bob.browser().cookies[settings.SESSION_COOKIE_NAME]
    context.add_cookies(
        [{"name": session.key, "value": session.value, "url": doors.url}]
    )
