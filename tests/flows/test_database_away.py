"""PostgreSQL stops at once while a crowd works: nothing is lost, nothing is doubled."""

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import pytest
from django.conf import settings
from django.db import connections

from approvals.models import Decision, Grant, Request, ResumeJob
from audit.verify import verify_tenant
from checkpoints.models import Attempt, Effect
from checkpoints.services.tools import register_tool
from config import embedded
from config.embedded import cluster
from kernel.scope import tenant_transaction
from tests.approvals.stage import Stage, fresh_stage
from tests.approvals.tool_server import ToolServer
from tests.examples.waiting import wait_until
from tests.flows.crowd import MANAGED_TOOL, Crowd, browser_of, crowd
from tests.installation import Installation


@pytest.fixture
def tool_server() -> Iterator[ToolServer]:
    server = ToolServer()
    yield server
    server.close()


@pytest.fixture
def stage(tool_server: ToolServer) -> Stage:
    """Half of what is asked is done by its agent, half by the worker."""
    stage = fresh_stage()
    register_tool(
        tenant_id=stage.tenant_id,
        by=stage.house.alice.id,
        name=MANAGED_TOOL,
        mode="managed",
        risk="high",
        definition=tool_server.definition(settle=5),
    )
    return stage


@pytest.mark.parametrize(
    ("seconds", "busy"),
    [(0, 3), pytest.param(20, 20, marks=pytest.mark.long)],
    ids=["for a moment", "for 20 seconds"],
)
def test_nothing_is_lost_or_doubled(
    installation: Installation,
    stage: Stage,
    tool_server: ToolServer,
    seconds: float,
    busy: int,
) -> None:
    """`busy` requests are finished before, and as many again after."""
    with (
        crowd(installation.url, stage) as working,
        browser_of(installation.url, stage.bob) as browser,
    ):
        wait_until(lambda: len(working.finished) >= busy, seconds=90)
        with postgres_away():
            wait_until(lambda: working.statuses()[503], seconds=60)
            assert_says_when_to_come_again(browser, stage)
            time.sleep(seconds)  # the length of the outage is what is tried
        before = len(working.finished)
        wait_until(lambda: len(working.finished) >= before + busy, seconds=90)
    assert_told_honestly(working)
    assert_once(stage, working, tool_server)
    assert verify_tenant(stage.tenant_id).intact


def assert_says_when_to_come_again(browser: httpx.Client, stage: Stage) -> None:
    """Problems to programs, pages to people; and a proxy's probe finds it not ready."""
    key = {"Authorization": f"Bearer {stage.house.robot.text}"}
    asked = (
        (f"/t/{stage.house.tenant.slug}/queue", {}),
        ("/api/v1/approvals", key),
        ("/health/ready", {}),
        ("/health/live", {}),
    )
    with ThreadPoolExecutor(len(asked)) as pool:
        answers = pool.map(lambda one: browser.get(one[0], headers=one[1]), asked)
        page, problem, ready, alive = answers
    assert alive.status_code == 200
    assert ready.status_code >= 500
    for answer in (page, problem):
        assert answer.status_code == 503
        assert int(answer.headers["Retry-After"]) > 0
    assert "Not available for a moment" in page.text
    assert problem.json()["code"] == "unavailable"


def assert_told_honestly(working: Crowd) -> None:
    """Whoever was refused may come again, and saw nothing of the inside."""
    assert set(working.statuses()) <= {200, 201, 302, 303, 409, 503}
    for answer in working.answers:
        assert "Traceback" not in answer.text
        if answer.status_code == 503:
            assert int(answer.headers["Retry-After"]) > 0
            kind = answer.headers["Content-Type"]
            assert kind.startswith(("application/problem+json", "text/html"))


def assert_once(stage: Stage, working: Crowd, tool_server: ToolServer) -> None:
    """One of everything for each request that an agent was told of, and no others."""
    asked = len(working.asked)
    with tenant_transaction(stage.tenant_id):
        found = {str(one.id): one.state for one in Request.objects.all()}
        assert found == dict.fromkeys(working.asked, Request.State.CONSUMED)
        assert Decision.objects.count() == asked
        assert Grant.objects.filter(state=Grant.State.CONSUMED).count() == asked
        assert Grant.objects.count() == asked
        effects = list(Effect.objects.select_related("tool"))
        assert {one.state for one in effects} == {Effect.State.CONFIRMED}
        assert len(effects) == asked
        jobs = set(ResumeJob.objects.values_list("state", flat=True))
        assert jobs == {ResumeJob.State.DONE}
        outcomes = dict(Attempt.objects.values_list("effect_id", "outcome"))
        # What the worker could not write down any more, the tool was asked about.
        assert set(outcomes) == {one.id for one in effects}
        assert set(outcomes.values()) <= {"confirmed", "unknown", "absent"}
        told = Attempt.objects.filter(outcome="confirmed").values_list("effect_id")
        assert len(told) == len(set(told))
    keys = {bytes(one.key).hex() for one in effects if one.tool.name == MANAGED_TOOL}
    assert set(tool_server.keys()) == keys == set(tool_server.current.done)
    assert len(tool_server.keys()) == len(keys)
    assert set(working.acted.values()) == {1}
    assert len(working.acted) == asked - len(keys)


@contextmanager
def postgres_away() -> Iterator[None]:
    """Its processes end at once, in the middle of whatever they do ("immediate")."""
    connections.close_all()
    connections["default"].close_pool()
    home = cluster.locate(settings.DATA_DIR).home
    server = int((home / "postmaster.pid").read_text().split("\n", 1)[0])
    os.kill(server, signal.SIGQUIT)
    embedded.stop(settings.DATA_DIR)
    try:
        yield
    finally:
        embedded.ensure(settings.DATA_DIR, durable=False)
