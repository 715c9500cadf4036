"""The invoice agent on a running installation: its tools, its people, its process."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.db.models import F

from checkpoints.services import register_tool
from examples.invoice.tool_definitions import TOOLS, WORKFLOW, WORKFLOW_KIND
from kernel.scope import tenant_transaction
from sessions.models import Fact
from sessions.services import define_workflow
from tests.api import Api
from tests.examples.correction_process import ROOT, CorrectionProcess
from tests.examples.invoice_documents import copy_documents
from tests.examples.waiting import wait_until
from tests.factories import House, Somebody, fresh_house, fresh_member
from tests.flows.front import Front, front_of
from tests.installation import Installation


@dataclass(slots=True, kw_only=True)
class InvoiceStage:
    """One tenant, one correction system, one folder of documents."""

    house: House
    installation: Installation
    corrections: CorrectionProcess
    documents: Path
    front: Front
    agents: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def api(self) -> Api:
        return Api.of(self.house.robot)

    def start_agent(self, invoice_id: str) -> subprocess.Popen[str]:
        """The agent's process, on one invoice."""
        options = {
            "--url": self.front.url,
            "--correction-url": self.corrections.url,
            "--documents": str(self.documents),
            "--invoice": invoice_id,
        }
        words = [word for option in options.items() for word in option]
        agent = subprocess.Popen(
            [sys.executable, "-m", "examples.invoice.agent", *words, "--once"],
            cwd=ROOT,
            env={**os.environ, "KEYTURN_API_KEY": self.house.robot.text},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.agents.append(agent)
        return agent

    def kill_agent(self) -> None:
        """SIGKILL the newest agent, wherever it is."""
        self.agents[-1].kill()
        self.agents[-1].wait()

    def finish(self, invoice_id: str) -> dict[str, Any]:
        """Start the agent, and again each time it was killed, until it ends by itself."""
        while True:
            agent = self.start_agent(invoice_id)
            line = self.line_of(agent)
            if line is not None:
                return line

    def line_of(self, agent: subprocess.Popen[str]) -> dict[str, Any] | None:
        """What the agent printed in the end; None if it was killed."""
        printed, said = agent.communicate(timeout=120)
        if agent.returncode == -9:
            return None
        assert agent.returncode == 0, f"{said}\n{self.installation.log.tail()}"
        line: dict[str, Any] = json.loads(printed)
        return line

    def approvals(self, **query: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.api.get("approvals", **query).json()["items"]
        return found

    def pending(self, *, revision: int = 1, seconds: float = 120) -> dict[str, Any]:
        """The one request that waits for people, as soon as there is one."""
        wait_until(lambda: self._waiting(revision), seconds=seconds)
        (approval,) = self._waiting(revision)
        return approval

    def decide(
        self,
        approval: dict[str, Any],
        verdict: str,
        *,
        by: Somebody | None = None,
        **more: Any,
    ) -> None:
        """As a browser would, Bob's by default: a session with its CSRF token."""
        answer = (
            (by or self.house.bob)
            .scripted()
            .post(
                f"/api/v1/approvals/{approval['id']}/decisions",
                json.dumps({"verdict": verdict, "digest": approval["digest"], **more}),
                content_type="application/json",
            )
        )
        assert answer.status_code == 200, answer.content

    def another_reviewer(self, name: str) -> Somebody:
        return fresh_member(self.house.alice, name, group=self.house.reviewers)

    def sent(self) -> list[dict[str, Any]]:
        """The arguments of every effect that the correction system knows of."""
        with self.corrections.client() as client:
            keys = client.get("/stats").json()["effects"]
            paths = [f"/corrections/by-key/{key}" for key in keys]
            return [client.get(path).json()["arguments"] for path in paths]

    def age_fact(self, name: str, *, hours: int) -> None:
        """Let a fact of the run have been observed earlier."""
        with tenant_transaction(self.house.id):
            facts = Fact.objects.filter(name=name)
            earlier = F("observed_at") - timedelta(hours=hours)
            assert facts.update(observed_at=earlier) == 1

    def run(self) -> dict[str, Any]:
        """The tenant's one run."""
        (row,) = self.api.get("runs").json()["items"]
        run: dict[str, Any] = self.api.get(f"runs/{row['id']}").json()
        return run

    def items(self) -> list[dict[str, Any]]:
        (session,) = self.api.get("sessions").json()["items"]
        path = f"sessions/{session['id']}/items"
        return [one["data"] for one in self.api.get(path).json()["items"]]

    def _waiting(self, revision: int) -> list[dict[str, Any]]:
        asked = self.approvals(status="pending")
        return [one for one in asked if one["revision"] == revision]


@contextmanager
def invoice_stage(
    installation: Installation, folder: Path, *, modes: dict[str, str] | None = None
) -> Iterator[InvoiceStage]:
    """Everything but the agent. `modes` are the tools' where they differ."""
    house = fresh_house(agent_name="invoice-agent")
    documents = copy_documents(folder / "documents").path
    with (
        CorrectionProcess(folder / "corrections") as corrections,
        front_of(installation.url) as front,
    ):
        _register(house, corrections.url, modes or {})
        stage = InvoiceStage(
            house=house,
            installation=installation,
            corrections=corrections,
            documents=documents,
            front=front,
        )
        try:
            yield stage
        finally:
            for agent in stage.agents:
                agent.kill()
                agent.communicate()


def _register(house: House, correction_url: str, modes: dict[str, str]) -> None:
    for tool in TOOLS:
        register_tool(
            tenant_id=house.id,
            by=house.alice.id,
            name=tool.name,
            mode=modes.get(tool.name, tool.mode),
            risk=tool.risk,
            definition=tool.definition(correction_url),
        )
    define_workflow(
        tenant_id=house.id,
        by=house.alice.id,
        kind=WORKFLOW_KIND,
        definition=WORKFLOW,
    )
