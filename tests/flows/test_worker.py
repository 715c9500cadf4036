"""What the worker owes: done once, whoever is killed, however many answer at once."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import httpx
import pytest
from django.conf import settings

from config.demo.reviewer import Reviewer
from tests.examples.waiting import wait_until
from tests.factories import Somebody
from tests.flows.invoice_stage import InvoiceStage, invoice_stage
from tests.installation import Installation


@pytest.fixture
def stage(installation: Installation, tmp_path: Path) -> Iterator[InvoiceStage]:
    with invoice_stage(installation, tmp_path) as stage:
        yield stage


def browser_of(stage: InvoiceStage, somebody: Somebody) -> Reviewer:
    """A browser, over real HTTP, in which they have signed in before."""
    browser = Reviewer.at(stage.installation.url, stage.house.tenant.slug)
    name = settings.SESSION_COOKIE_NAME
    browser.http.cookies.set(name, somebody.browser().cookies[name].value)
    return browser


def test_a_worker_killed_in_the_middle_of_a_call_acts_once(
    stage: InvoiceStage,
) -> None:
    """The company acts two seconds after the call; nobody is left to hear of it."""
    agent = stage.start_agent("INV-1042")
    approval = stage.pending()
    stage.corrections.fail_next("commit_late", seconds=2)
    stage.decide(approval, "approve")
    wait_until(lambda: stage.corrections.statistics()["in_flight"])
    stage.installation.kill("worker")
    line = stage.line_of(agent) or {}
    assert (line["outcome"], line["external_id"]) == ("sent", "CR-771")
    statistics = stage.corrections.statistics()
    assert statistics["total"] == 1
    assert list(statistics["calls"].values()) == [1]
    assert ended(stage) == {"status": "consumed", "state": "confirmed", "attempt": 1}


def test_a_job_that_no_worker_heard_of_is_found_by_the_sweep(
    stage: InvoiceStage,
) -> None:
    agent = stage.start_agent("INV-1042")
    approval = stage.pending()
    with stage.installation.without("worker"):
        stage.decide(approval, "approve")
        for message in (settings.DATA_DIR / "broker" / "messages").glob("*.msg"):
            message.unlink(missing_ok=True)
    assert (stage.line_of(agent) or {})["outcome"] == "sent"
    assert stage.corrections.statistics()["total"] == 1


@pytest.mark.long
def test_a_call_that_never_happened_is_made_again(stage: InvoiceStage) -> None:
    """Only after the tool has had its time to settle: then its silence is a proof."""
    agent = stage.start_agent("INV-1042")
    approval = stage.pending()
    stage.corrections.fail_next("hang", seconds=60)
    stage.decide(approval, "approve")
    wait_until(lambda: stage.corrections.statistics()["in_flight"])
    stage.installation.kill("worker")
    line = stage.line_of(agent) or {}
    assert (line["outcome"], line["external_id"]) == ("sent", "CR-771")
    assert stage.corrections.statistics()["total"] == 1
    assert ended(stage) == {"status": "consumed", "state": "confirmed", "attempt": 2}


def test_of_two_browsers_that_answer_at_once_one_decides(stage: InvoiceStage) -> None:
    agent = stage.start_agent("INV-1042")
    request = stage.pending()["id"]
    people = (stage.house.bob, stage.another_reviewer("Carol"))
    browsers = [browser_of(stage, one) for one in people]
    digests = [one.digest_on_screen(request) for one in browsers]
    together = Barrier(2)

    def answer(browser: Reviewer, digest: str) -> httpx.Response:
        together.wait()
        return browser.decide(request, "approve", digest=digest)

    with browsers[0], browsers[1], ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(answer, browsers, digests))
    assert sorted(one.status_code for one in answers) == [200, 409]
    (lost,) = (one for one in answers if one.status_code == 409)
    assert lost.json()["code"] == "already_decided"
    assert (stage.line_of(agent) or {})["outcome"] == "sent"
    assert stage.corrections.statistics()["total"] == 1
    (approval,) = stage.approvals()
    assert len(approval["decisions"]) == 1


def ended(stage: InvoiceStage) -> dict[str, object]:
    (approval,) = stage.approvals()
    effect = approval["effect"]
    return {
        "status": approval["status"],
        "state": effect["state"],
        "attempt": effect["attempt"],
    }
