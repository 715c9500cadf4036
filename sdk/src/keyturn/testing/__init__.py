"""For tests of functions that ask: people who answer as the test says, and no server.

    def test_nothing_is_paid_when_somebody_says_no() -> None:
        with FakeApprover() as people:
            people.reject("pay", reason="Not this supplier")
            with pytest.raises(keyturn.Rejected):
                pay(payee="Halden Paper", amount="1240.00")
        assert people.outcomes == []

Time is simulated: where nobody answers, a `wait` passes at once, and a question expires
when its time is over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import httpx

from keyturn import gate
from keyturn.client import AsyncClient, Client
from keyturn.drivers import Async, Sync
from keyturn.flows import Sleep, Step
from keyturn.testing.server import Server

_URL, _KEY = "http://localhost", "kt_test"
_Answer = Callable[[dict[str, Any]], None]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as it was asked."""

    tool: str
    arguments: Mapping[str, Any]
    target: Any
    risk: str
    explanation: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was reported: `confirmed`, `failed`, `unknown`; `started` before that."""

    tool: str
    outcome: str
    external_id: str


class FakeApprover:
    """People who answer by the tool's name; `tool=None` stands for all others.

    Until something is said of a tool, nobody answers.
    """

    def __init__(self) -> None:
        self._answers: dict[str | None, _Answer] = {}
        self._server = Server(self._decide)
        self._installed = ExitStack()
        self._delay = 0.0

    # -- What they say --------------------------------------------------------------------

    def approve(self, tool: str | None = None) -> None:
        """Let it happen as it was asked."""
        self._answers[tool] = lambda asked: asked.update(status="approved")

    def edit(self, tool: str | None = None, **changes: Any) -> None:
        """Let it happen with these arguments changed."""

        def answer(asked: dict[str, Any]) -> None:
            arguments = {**asked["arguments"], **changes}
            asked.update(status="approved", arguments=arguments, revision=2)

        self._answers[tool] = answer

    def reject(self, tool: str | None = None, *, reason: str = "") -> None:
        """Say no."""
        ending = {"status": "rejected", "reason": reason}
        self._answers[tool] = lambda asked: asked.update(ending)

    def respond(self, tool: str | None = None, *, response: Any) -> None:
        """Answer instead of letting it happen."""
        ending = {"status": "answered", "response": response}
        self._answers[tool] = lambda asked: asked.update(ending)

    def request_changes(self, tool: str | None = None, *, reason: str) -> None:
        """Want it asked differently."""
        ending = {"status": "changes_requested", "reason": reason}
        self._answers[tool] = lambda asked: asked.update(ending)

    def leave(self, tool: str | None = None) -> None:
        """Answer nothing any more."""
        self._answers.pop(tool, None)

    def take_time(self, seconds: float) -> None:
        """Answer nothing until a question is so old."""
        self._delay = seconds

    # -- What happened --------------------------------------------------------------------

    @property
    def asked(self) -> list[Asked]:
        """Every question, in its order, with the arguments as they are now."""
        return [
            Asked(
                one["tool"],
                one["arguments"],
                one["target"],
                one["risk"],
                one["explanation"],
            )
            for one in self._server.approvals.values()
        ]

    @property
    def outcomes(self) -> list[Outcome]:
        """What came of each action that was let through, in the questions' order."""
        return [
            Outcome(one["tool"], one["effect"]["state"], one["effect"]["external_id"])
            for one in self._server.approvals.values()
            if one["effect"] is not None
        ]

    # -- Where it is used -----------------------------------------------------------------

    def client(self) -> Client:
        """A client that asks these people."""
        transport = httpx.MockTransport(self._server.handle)
        return _Client(self._server, transport)

    def async_client(self) -> AsyncClient:
        """The same for an event loop."""
        transport = httpx.MockTransport(self._server.handle)
        return _AsyncClient(self._server, transport)

    def __enter__(self) -> Self:
        """Within the block they are asked wherever no client is named."""
        client = self._installed.enter_context(self.client())
        self._installed.enter_context(gate.using(client, self.async_client))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._installed.close()

    def _decide(self, asked: dict[str, Any]) -> None:
        answer = self._answers.get(asked["tool"]) or self._answers.get(None)
        if answer is not None and self._server.age(asked) >= self._delay:
            answer(asked)


class _Client(Client):
    def __init__(self, server: Server, transport: httpx.BaseTransport) -> None:
        super().__init__(_URL, _KEY, transport=transport)
        self._server = server

    def now(self) -> float:
        return self._server.seconds

    def take(self, step: Step) -> Any:
        if isinstance(step, Sleep):
            self._server.seconds += step.seconds
            return None
        return Sync.take(self, step)


class _AsyncClient(AsyncClient):
    def __init__(self, server: Server, transport: httpx.AsyncBaseTransport) -> None:
        super().__init__(_URL, _KEY, transport=transport)
        self._server = server

    def now(self) -> float:
        return self._server.seconds

    async def take(self, step: Step) -> Any:
        if isinstance(step, Sleep):
            self._server.seconds += step.seconds
            return None
        return await Async.take(self, step)
