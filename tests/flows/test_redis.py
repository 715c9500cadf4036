"""Redis as the broker: emptied, and stopped, at the moment of the decision."""

import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
import redis

from approvals.models import Request, ResumeJob
from checkpoints.models import Effect
from kernel.scope import tenant_transaction
from tests.approvals.stage import Stage, fresh_stage
from tests.approvals.tool_server import ToolServer
from tests.examples.waiting import wait_until
from tests.flows.crowd import browser_of
from tests.installation import Installation, free_port, running_installation

SERVER = shutil.which("redis-server") or shutil.which("valkey-server")
SWEEP = 3  # seconds from one sweep to the next, and until a job counts as lost
SLACK = 20  # for a busy machine

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(SERVER is None, reason="no redis-server (or valkey-server)"),
]


@dataclass(slots=True)
class Broker:
    """A Redis of our own, with nothing on disk."""

    folder: Path
    port: int
    _process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        assert SERVER is not None
        options = {
            "--port": str(self.port),
            "--bind": "127.0.0.1",
            "--save": "",
            "--appendonly": "no",
            "--dir": str(self.folder),
        }
        words = [word for option in options.items() for word in option]
        self._process = subprocess.Popen([SERVER, *words], stdout=subprocess.DEVNULL)
        wait_until(self._answers)

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def flush(self) -> int:
        """Forget everything; returns how many messages waited."""
        with self._client() as client:
            waiting = int(client.llen("celery"))
            client.flushall()
            return waiting

    @contextmanager
    def flushed_without_end(self) -> Iterator[None]:
        """As often as it goes: what is published is gone, unless somebody had it."""
        over = threading.Event()

        def flush() -> None:
            with self._client() as client:
                while not over.is_set():
                    client.flushall()

        thread = threading.Thread(target=flush)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _answers(self) -> bool:
        try:
            with self._client() as client:
                return bool(client.ping())
        except redis.ConnectionError:
            return False

    def _client(self) -> Any:
        return redis.Redis(port=self.port)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    broker = Broker(tmp_path_factory.mktemp("redis"), free_port())
    broker.start()
    yield broker
    broker.stop()


@pytest.fixture(scope="module")
def house(broker: Broker, django_db_setup: None) -> Iterator[Installation]:
    with running_installation(CELERY_BROKER_URL=broker.url) as running:
        yield running


@pytest.fixture
def tool_server() -> Iterator[ToolServer]:
    server = ToolServer()
    yield server
    server.close()


@pytest.fixture
def stage(tool_server: ToolServer) -> Stage:
    return fresh_stage("managed", **tool_server.definition())


def test_what_nobody_took_away_is_done_at_once(
    house: Installation, stage: Stage, tool_server: ToolServer
) -> None:
    request = stage.ask()
    approve(house, stage, request)
    wait_until_done(stage, 1)
    assert len(tool_server.keys()) == 1


def test_what_was_flushed_is_found_by_the_next_sweep(
    house: Installation, broker: Broker, stage: Stage, tool_server: ToolServer
) -> None:
    request = stage.ask()
    with house.without("worker"):
        approve(house, stage, request)
        assert broker.flush() > 0
    wait_until_done(stage, 1)
    assert len(tool_server.keys()) == 1


def test_flushes_at_each_commit_lose_and_double_nothing(
    house: Installation, broker: Broker, stage: Stage, tool_server: ToolServer
) -> None:
    requests = [stage.ask() for _ in range(10)]
    with broker.flushed_without_end():
        for request in requests:
            approve(house, stage, request)
    wait_until_done(stage, len(requests))
    assert len(tool_server.keys()) == len(set(tool_server.keys())) == len(requests)


def test_a_broker_that_is_gone_stops_nobody_from_deciding(
    house: Installation, broker: Broker, stage: Stage, tool_server: ToolServer
) -> None:
    requests = [stage.ask() for _ in range(3)]
    broker.stop()
    try:
        for request in requests:
            approve(house, stage, request)
    finally:
        broker.start()
    wait_until_done(stage, len(requests))
    assert len(tool_server.keys()) == len(set(tool_server.keys())) == len(requests)


def approve(house: Installation, stage: Stage, request: Request) -> None:
    with browser_of(house.url, stage.bob) as browser:
        answer = browser.post(
            f"/api/v1/approvals/{request.id}/decisions",
            json={"verdict": "approve", "digest": stage.digest(request).hex()},
            headers={"Idempotency-Key": uuid4().hex},
        )
    assert answer.status_code == httpx.codes.OK, answer.text


def wait_until_done(stage: Stage, number: int) -> None:
    """As many effects, each confirmed, and no job left over."""

    def done() -> bool:
        with tenant_transaction(stage.tenant_id):
            effects = [one.state for one in Effect.objects.all()]
            jobs = {one.state for one in ResumeJob.objects.all()}
        confirmed = effects == [Effect.State.CONFIRMED] * number
        return confirmed and jobs == {ResumeJob.State.DONE}

    wait_until(done, seconds=SWEEP + SLACK)
