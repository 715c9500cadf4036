"""Two worlds that the same scenarios are played in: a real installation, and the fake.

Whoever uses `keyturn.testing` must find in it what they will find in earnest.
"""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import httpx
from django.db import connections

from keyturn import AsyncClient, Client, gate
from keyturn.testing import FakeApprover
from tests.api import Api
from tests.examples.waiting import wait_until
from tests.factories import House, Somebody, fresh_house, fresh_member
from tests.installation import Installation


class World(Protocol):
    """Where functions ask; `answer` is told before the question is asked."""

    def answer(self, verdict: str, **said: Any) -> None: ...
    def client(self) -> Client: ...
    def async_client(self) -> AsyncClient: ...
    def effects(self) -> list[tuple[str, str, str]]: ...
    def runs(self) -> list[str]: ...
    def questions(self) -> int: ...


@dataclass
class Fake:
    people: FakeApprover

    def answer(self, verdict: str, **said: Any) -> None:
        if verdict == "edit":
            said = said["arguments"]
        getattr(self.people, verdict)(**said)

    def client(self) -> Client:
        return self.people.client()

    def async_client(self) -> AsyncClient:
        return self.people.async_client()

    def effects(self) -> list[tuple[str, str, str]]:
        told = self.people.outcomes
        return [(one.tool, one.outcome, one.external_id) for one in told]

    def runs(self) -> list[str]:
        return [one["state"] for one in self.people._server.runs.values()]

    def questions(self) -> int:
        return len(self.people.asked)


@dataclass
class Real:
    """Bob decides as a browser would, in a thread of his own, as soon as he is asked."""

    house: House
    installation: Installation
    threads: list[threading.Thread] = field(default_factory=list)
    flaws: list[BaseException] = field(default_factory=list)

    @property
    def url(self) -> str:
        return self.installation.url

    @property
    def api(self) -> Api:
        return Api.of(self.house.robot)

    def answer(self, verdict: str, **said: Any) -> None:
        self._aside(lambda: self._answer(verdict, said))

    def kill_web_and_then(self, verdict: str) -> None:
        """Kill the server under those who wait; decide once it is back."""

        def act() -> None:
            approval = self.pending()
            self.installation.kill("web")
            self.decide(approval, verdict)

        self._aside(act)

    def answer_by_two(self, verdict: str) -> None:
        """Bob's answer and Carol's, to the next question."""

        def both() -> None:
            approval = self.pending()
            self.decide(approval, verdict)
            self.decide(approval, verdict, by=self.carol())

        self._aside(both)

    def carol(self) -> Somebody:
        """One more reviewer."""
        return fresh_member(self.house.alice, "Carol", group=self.house.reviewers)

    def _answer(self, verdict: str, said: dict[str, Any]) -> None:
        approval = self.pending()
        if verdict == "edit":
            said = {"arguments": {**approval["arguments"], **said["arguments"]}}
        self.decide(approval, verdict, **said)
        if verdict == "edit":
            # Whoever edits a risky action does not turn the key alone.
            self.decide(self.pending(), "approve", by=self.carol())

    def pending(self) -> dict[str, Any]:
        found: list[dict[str, Any]] = []

        def look() -> bool:
            found[:] = self.api.get("approvals", status="pending").json()["items"]
            return bool(found)

        wait_until(look, seconds=60)
        return found[0]

    def decide(
        self,
        approval: dict[str, Any],
        verdict: str,
        *,
        by: Somebody | None = None,
        **said: Any,
    ) -> None:
        path = f"/api/v1/approvals/{approval['id']}/decisions"
        body = {"verdict": verdict, "digest": approval["digest"], **said}
        answer = (
            (by or self.house.bob)
            .scripted()
            .post(path, json.dumps(body), content_type="application/json")
        )
        assert answer.status_code == 200, answer.content

    def _aside(self, work: Callable[[], None]) -> None:
        def do() -> None:
            try:
                work()
            except BaseException as flaw:
                self.flaws.append(flaw)
            finally:
                connections.close_all()

        thread = threading.Thread(target=do, daemon=True)
        thread.start()
        self.threads.append(thread)

    def client(self) -> Client:
        return Client(self.url, self.house.robot.text, patience=60)

    def async_client(self) -> AsyncClient:
        return AsyncClient(self.url, self.house.robot.text, patience=60)

    def effects(self) -> list[tuple[str, str, str]]:
        rows = self.api.get("approvals", limit=200).json()["items"]
        return [
            (one["tool"], one["effect"]["state"], one["effect"]["external_id"])
            for one in reversed(rows)
            if one["effect"]
        ]

    def runs(self) -> list[str]:
        rows = self.api.get("runs", limit=200).json()["items"]
        return [one["state"] for one in reversed(rows)]

    def questions(self) -> int:
        return len(self.api.get("approvals", limit=200).json()["items"])


@contextmanager
def fake_world() -> Iterator[Fake]:
    with FakeApprover() as people:
        yield Fake(people)


@contextmanager
def real_world(installation: Installation) -> Iterator[Real]:
    """Its clients are those that are used where none is named."""
    world = Real(fresh_house(), installation)
    with ExitStack() as stack:
        client = stack.enter_context(world.client())
        stack.enter_context(gate.using(client, world.async_client))
        yield world
    for thread in world.threads:
        thread.join(timeout=60)
    assert world.flaws == []


def front_client(url: str, world: Real, *, patience: float = 60) -> Client:
    """A client that reaches the server through something else."""
    assert httpx.URL(url).host == "127.0.0.1"
    return Client(url, world.house.robot.text, patience=patience)
