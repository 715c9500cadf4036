"""A stage for approvals: a house with a queue, tools and policies, and a paused run.

Everything is made by the real verbs. Bob decides; Carol, when asked for, is a second
reviewer.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any
from uuid import UUID

from approvals.asks import Ask
from approvals.models import Decision, Delegation, Queue, Request, Revision
from approvals.services.case import Answer
from approvals.services.decide import decide
from approvals.services.delegations import Leave, make_delegation
from approvals.services.pause import pause_run
from approvals.services.policies import publish_policy
from approvals.services.queues import create_queue
from checkpoints.checkpoint import Position
from checkpoints.models import Tool
from checkpoints.services.tools import register_tool
from kernel.scope import tenant_transaction
from sessions.models import Run
from sessions.services.runs import start_run
from sessions.services.sessions import open_session
from tenants.checks import Operator
from tests.copies import Original
from tests.factories import House, Somebody, fresh_house, fresh_member

SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["payee", "amount"],
    "properties": {
        "payee": {"type": "string", "maxLength": 200},
        "amount": {"type": "string", "pattern": "^[0-9]+\\.[0-9]{2}$"},
        "urgent": {"type": "boolean"},
        "lines": {"type": "array"},
    },
}
ARGUMENTS = {"payee": "Halden Paper Supply", "amount": "1240.00"}


@dataclass(frozen=True, kw_only=True)
class Stage:
    """Names for what a test needs again and again."""

    house: House
    queue: Queue
    tool: Tool
    tenant_id: UUID = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tenant_id", self.house.id)

    @property
    def bob(self) -> Somebody:
        return self.house.bob

    def reviewer(self, name: str = "Carol") -> Somebody:
        """One more person who may decide on the queue."""
        return fresh_member(self.house.alice, name, group=self.house.reviewers)

    def run(self) -> Run:
        who = self.house.robot.principal
        session = open_session(who=who, subject="customer-7")
        run, _ = start_run(who=who, session_id=session.id)
        return run

    def ask(self, run: Run | None = None, **asked: Any) -> Request:
        """Pause a run on one question."""
        return self.ask_all([asked], run)[0]

    def ask_all(
        self, asked: list[dict[str, Any]], run: Run | None = None, until: str = "all"
    ) -> list[Request]:
        run = run or self.run()
        asks = [
            Ask(**{"tool": self.tool.name, "arguments": ARGUMENTS, **one})
            for one in asked
        ]
        return pause_run(
            self.house.robot.principal,
            run_id=run.id,
            fence=run.fence,
            position=Position(
                parent=run.head_number, schema_version=1, payload=b"{}", header={}
            ),
            asks=asks,
            resume_when=until,
        )

    def answer(
        self, request: Request, by: Somebody | None = None, **said: Any
    ) -> Request:
        """Decide as the page would: for the digest that is on screen now."""
        said.setdefault("verdict", Decision.Verdict.APPROVE)
        said.setdefault("digest", self.digest(request))
        return decide(
            (by or self.bob).person, request_id=request.id, answer=Answer(**said)
        )

    def digest(self, request: Request) -> bytes:
        with tenant_transaction(self.tenant_id):
            current = Request.objects.get(id=request.id)
            revision = Revision.objects.get(
                request_id=request.id, number=current.revision
            )
            return bytes(revision.digest)

    def fresh[M](self, row: M) -> M:
        """The row as it is now."""
        with tenant_transaction(self.tenant_id):
            return type(row).objects.get(pk=row.pk)  # type: ignore[attr-defined,no-any-return]

    def let_through(self, name: str, **definition: Any) -> None:
        """An allow that serves nobody's own agents: the installation's operator's."""
        publish_policy(
            tenant_id=self.tenant_id,
            by=Operator.CONSOLE,
            name=name,
            definition={"verdict": "allow", **definition},
        )

    def on_leave(
        self, away: Somebody, instead: Somebody, days: float = 7, **said: Any
    ) -> Delegation:
        """From now on `instead` is asked instead of `away`."""
        now = datetime.now(UTC)
        said.setdefault("starts_at", now - timedelta(minutes=5))
        leave = Leave(
            delegator_id=away.id,
            delegate_id=instead.id,
            ends_at=now + timedelta(days=days),
            **said,
        )
        return make_delegation(tenant_id=self.tenant_id, by=away.id, leave=leave)

    def policy(self, name: str = "review", **definition: Any) -> None:
        """Put a policy in force; by the owner, so that she never counts."""
        publish_policy(
            tenant_id=self.tenant_id,
            by=self.house.alice.id,
            name=name,
            definition={"verdict": "require_review", **definition},
        )


def fresh_stage(mode: str = "agent", **definition: Any) -> Stage:
    """A fresh house, with a stage in it."""
    if definition or mode != "agent":
        return _with_tool(*_first_desk().copy(), mode, **definition)
    return _first_stage().copy()


@cache
def _first_stage() -> Original[Stage]:
    stage = staged(fresh_house())
    house = stage.house
    return Original(stage, tenant_id=house.id, key=house.robot.text)


@cache
def _first_desk() -> Original[tuple[House, Queue]]:
    house = fresh_house()
    made = (house, _default_queue(house))
    return Original(made, tenant_id=house.id, key=house.robot.text)


def staged(house: House, mode: str = "agent", **definition: Any) -> Stage:
    """Its reviewers decide on the default queue, and there is one payment tool."""
    return _with_tool(house, _default_queue(house), mode, **definition)


def _default_queue(house: House) -> Queue:
    return create_queue(
        tenant_id=house.id,
        by=house.alice.id,
        slug="payments",
        name="Payments",
        default=True,
        reviewers=house.reviewers.id,
    )


def _with_tool(house: House, queue: Queue, mode: str, **definition: Any) -> Stage:
    tool = register_tool(
        tenant_id=house.id,
        by=house.alice.id,
        name="pay",
        mode=mode,
        risk="high",
        definition={
            "title": "Pay {amount} to {payee}",
            "schema": SCHEMA,
            **definition,
        },
    )
    return Stage(house=house, queue=queue, tool=tool)
