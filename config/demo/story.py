"""One approval from pause to proof, through the doors that everybody has.

The agent works and asks over its API; a reviewer signs in, reads the case and decides;
the worker verifies and acts; the company system says what it did; the audit log is
checked.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from io import StringIO
from typing import Final
from uuid import uuid4

import httpx
from django.core.management import call_command

from config.demo import programs
from config.demo.agent_api import AgentApi, Json
from config.demo.record import Record, TenantRecord
from config.demo.reviewer import NotAllowedIn, Reviewer
from config.demo.seed.cast import FJORDLINE, INVOICE_AGENT, MAREN
from config.demo.steps import Steps
from config.demo.waiting import TooLate, wait_for
from config.embedded.supervisor import Supervisor

STEPS: Final = 5  # that it tells of
INVOICE: Final = "INV-1042"
CHECKS: Final = ("identity", "position", "effects", "authority")
_TO_ASK: Final = 60.0  # seconds
# A worker that is killed with the action in its hands is replaced, and its successor
# waits until the tool can tell for sure what became of it.
_TO_ACT: Final = 180.0


class BrokeOff(Exception):
    """The story did not come to its end; the message says where and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """How the story ended, as far as it came."""

    request: str = ""
    status: str = "not_asked"
    effects: int = 0
    checks: Mapping[str, str] = field(default_factory=dict)
    audit: str = "not_checked"
    external_id: str = ""

    @property
    def is_good(self) -> bool:
        """Whether everything is as it has to be."""
        return (
            (self.status, self.effects, self.audit) == ("consumed", 1, "intact")
            and self.checks == dict.fromkeys(CHECKS, "passed")
            and self.external_id.startswith("CR-")
        )

    def line(self) -> str:
        """The one line of JSON that machines read."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return json.dumps({**fields, "checks": dict(self.checks)})


@dataclass(slots=True)
class Story:
    """Tells it once. `told` is what is known so far, also when it breaks off."""

    record: Record
    steps: Steps
    processes: Supervisor
    told: Told = field(default_factory=Told)
    _task: str = field(default_factory=lambda: f"STORY-{uuid4().hex[:12]}")

    def tell(self) -> None:
        """From beginning to end. Raises `BrokeOff`."""
        try:
            self._tell()
        except (TooLate, NotAllowedIn, httpx.HTTPError, LookupError) as error:
            raise BrokeOff(str(error)) from error

    def _tell(self) -> None:
        self._let_agent_work()
        with self.steps.step(f"The agent reads {INVOICE}", "The agent has paused"):
            asked = wait_for(self._asked, seconds=_TO_ASK, what="the agent asks")
        self.told = replace(self.told, request=asked["id"], status=asked["status"])
        with self.steps.step("A reviewer signs in and reads", "A reviewer approved"):
            self._approve(asked["id"])
        with self.steps.step("Four checks, then the action", "The action has happened"):
            approval = wait_for(self._done, seconds=_TO_ACT, what="the action happens")
        self._keep(approval)
        with self.steps.step("The agent learns of it", "The agent has finished"):
            wait_for(self._ended, seconds=_TO_ASK, what="the agent finishes")
        if approval["effect"]:
            self._count(approval["effect"]["key"])
        with self.steps.step("Verifying the audit log", "The audit log was verified"):
            self.told = replace(self.told, audit=_audit())

    @property
    def _tenant(self) -> TenantRecord:
        return self.record.tenant(FJORDLINE.slug)

    @property
    def _key(self) -> str:
        return self._tenant.api_keys[INVOICE_AGENT]

    def _let_agent_work(self) -> None:
        self.processes.start(
            programs.invoice_agent(
                self.record.url,
                self.record.correction_url,
                self._key,
                invoices=[INVOICE],
                task=self._task,
                name="story",
            )
        )

    @property
    def _api(self) -> AgentApi:
        """What the agent itself could read."""
        return AgentApi(self.record.url, self._key)

    def _run(self) -> Json | None:
        found = self._api.list("runs", external_id=self._task)
        return found[0] if found else None

    def _asked(self) -> Json | None:
        run = self._run()
        if run is None:
            return None
        asked = self._api.list("approvals", run=run["id"])
        return asked[0] if asked else None

    def _approve(self, request: str) -> None:
        with Reviewer.at(self.record.url, self._tenant.slug) as browser:
            browser.sign_in(self._tenant.user(MAREN))
            digest = browser.digest_on_screen(request)
            browser.decide(request, "approve", digest=digest).raise_for_status()

    def _done(self) -> Json | None:
        path = f"approvals/{self.told.request}"
        approval = self._api.get(path, wait=5, until="done")
        self.told = replace(self.told, status=approval["status"])
        return approval if approval["resolved"] else None

    def _keep(self, approval: Json) -> None:
        verified, effect = approval["verification"], approval["effect"]
        self.told = replace(
            self.told,
            checks=verified["checks"] if verified else {},
            external_id=effect["external_id"] if effect else "",
        )

    def _ended(self) -> bool | None:
        run = self._run()
        return True if run and run["state"] == "completed" else None

    def _count(self, key: str) -> None:
        """What the company system counts, and not what we believe."""
        stats = httpx.get(f"{self.record.correction_url}/stats", trust_env=False)
        effects = stats.raise_for_status().json()["effects"].get(key, 0)
        self.told = replace(self.told, effects=effects)


def _audit() -> str:
    """What `manage.py verify_audit` says of all chains."""
    said = StringIO()
    try:
        call_command("verify_audit", json=True, stdout=said)
    except SystemExit as end:
        return "intact" if end.code == 0 else "broken" if end.code == 1 else "unknown"
    return "unknown"
