"""A crowd at a running installation: agents that ask and act, people who decide.

Whoever gets no answer asks again with the same idempotency key, and whoever got one
asks once more: both must be told the same. Every answer is kept, to be looked at.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import Event
from typing import Any, Final

import httpx
from django.conf import settings

from tests.approvals.stage import ARGUMENTS, Stage
from tests.examples.waiting import wait_until
from tests.factories import Somebody, unique

AGENTS: Final = 4
REVIEWERS: Final = 2
PATIENCE: Final = 120.0  # seconds: longer than any outage here
AGENT_TOOL, MANAGED_TOOL = "pay", "wire"


@dataclass(kw_only=True)
class Crowd:
    """What they were told, what the agents did, and which requests are finished."""

    url: str
    stage: Stage
    answers: list[httpx.Response] = field(default_factory=list)
    acted: Counter[str] = field(default_factory=Counter)
    """How often an agent carried out each idempotency key."""
    asked: list[str] = field(default_factory=list)
    finished: list[str] = field(default_factory=list)
    _undecided: SimpleQueue[str] = field(default_factory=SimpleQueue)
    _enough: Event = field(default_factory=Event)

    def statuses(self) -> Counter[int]:
        return Counter(answer.status_code for answer in self.answers)

    def agent(self, number: int) -> None:
        """Ask for one action after the other until it is enough."""
        headers = {"Authorization": f"Bearer {self.stage.house.robot.text}"}
        with _client(f"{self.url}/api/v1", headers) as client:
            while not self._enough.is_set():
                tool = (AGENT_TOOL, MANAGED_TOOL)[number % 2]
                self._one_action(client, tool)

    def reviewer(self, somebody: Somebody) -> None:
        """Approve whatever is asked until all that was asked is finished."""
        with browser_of(self.url, somebody) as browser:
            while not self._over():
                try:
                    request = self._undecided.get(timeout=0.1)
                except Empty:
                    continue
                self._approve(browser, request)

    def _over(self) -> bool:
        return self._enough.is_set() and len(self.finished) == len(self.asked)

    def _one_action(self, client: httpx.Client, tool: str) -> None:
        body = {"tool": tool, "arguments": ARGUMENTS}
        made = self._twice(client, "/approvals", body)
        request, fence = made["id"], {"Keyturn-Fence": str(made["fence"])}
        self.asked.append(request)
        self._undecided.put(request)
        place = f"/approvals/{request}"
        found = self._until(client, place, {"redeem", "done"})
        if found["next"] == "redeem":
            effect = self._twice(client, f"{place}/redeem", {}, **fence)["effect"]
            self.acted[effect["idempotency_key"]] += 1
            fence = {"Keyturn-Fence": str(effect["fencing_token"])}
            report = {"attempt": effect["attempt"], "outcome": "confirmed"}
            self._twice(client, f"/effects/{effect['id']}/report", report, **fence)
            self._until(client, place, {"done"})
        self.finished.append(request)

    def _approve(self, browser: httpx.Client, request: str) -> None:
        page = self._insist(lambda: browser.get(f"/r/{request}", follow_redirects=True))
        digest = page.text.split('name="digest" value="', 1)[1][:64]
        place = f"/api/v1/approvals/{request}/decisions"
        self._twice(browser, place, {"verdict": "approve", "digest": digest})

    def _until(
        self, client: httpx.Client, place: str, wanted: set[str]
    ) -> dict[str, Any]:
        while True:
            answer = self._insist(lambda: client.get(f"{place}?wait=5&until=done"))
            document: dict[str, Any] = answer.json()
            if document["next"] in wanted:
                return document
            assert document["next"] == "wait", document

    def _twice(
        self, client: httpx.Client, place: str, body: dict[str, Any], **headers: str
    ) -> dict[str, Any]:
        """Send it until it is answered, and then once more: the answer is the same."""
        headers["Idempotency-Key"] = unique() + unique()

        def send() -> httpx.Response:
            return client.post(place, json=body, headers=headers)

        first, again = self._insist(send), self._insist(send)
        assert first.content == again.content
        return dict(first.json())

    def _insist(self, send: Callable[[], httpx.Response]) -> httpx.Response:
        """Send it again for as long as the answer says that it may be sent again."""

        answer: list[httpx.Response] = []

        def tried() -> bool:
            answer[:] = [send()]
            self.answers.extend(answer)
            return not may_try_again(answer[0])

        wait_until(tried, seconds=PATIENCE)
        assert answer[0].is_success, (answer[0].request.url, answer[0].text)
        return answer[0]


@contextmanager
def crowd(url: str, stage: Stage) -> Iterator[Crowd]:
    """They work while the block lasts; then all that was asked is brought to its end."""
    here = Crowd(url=url, stage=stage)
    people = [stage.bob, *(stage.reviewer(f"R{n}") for n in range(1, REVIEWERS))]
    with ThreadPoolExecutor(AGENTS + REVIEWERS) as pool:
        working: list[Future[None]] = [
            *(pool.submit(here.agent, number) for number in range(AGENTS)),
            *(pool.submit(here.reviewer, somebody) for somebody in people),
        ]
        try:
            yield here
        finally:
            here._enough.set()
        for each in working:
            each.result()


def may_try_again(answer: httpx.Response) -> bool:
    in_flight = answer.status_code == 409 and "in_flight" in answer.json()["code"]
    return answer.status_code == 503 or in_flight


def _client(url: str, headers: dict[str, str], **more: Any) -> httpx.Client:
    return httpx.Client(
        base_url=url, headers=headers, timeout=60, trust_env=False, **more
    )


def browser_of(url: str, somebody: Somebody) -> httpx.Client:
    """Signed in, with what a script on one of our pages sends along."""
    signed_in = somebody.scripted()
    cookies = {name: morsel.value for name, morsel in signed_in.cookies.items()}
    headers = {
        "Keyturn-Tenant": somebody.slug,
        "X-CSRFToken": cookies[settings.CSRF_COOKIE_NAME],
        "Origin": url,
    }
    return _client(url, headers, cookies=cookies)
