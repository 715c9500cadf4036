"""A small world with one of everything that an address of the API can name."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final
from uuid import UUID

from approvals.asks import Ask
from approvals.compat.kinds import HITL, HUMAN, Shape
from approvals.context import Wanted
from approvals.models import Decision, Pause, Request, ResumeJob
from approvals.resume.work import work
from approvals.services.contexts import record_context
from approvals.services.redeem import redeem
from approvals.services.request import Around, request_together
from checkpoints.checkpoint import Position
from checkpoints.services import save_checkpoint
from kernel.scope import tenant_transaction
from sessions.models import Run
from sessions.services import (
    Upload,
    append_items,
    branch_session,
    define_workflow,
    put_artifact,
)
from tenants.checks import Operator
from tests.approvals.stage import ARGUMENTS, Stage, fresh_stage
from tests.factories import House

TEXT: Final = "text/plain"
NAMES: Final = (
    "session",
    "said",
    "run",
    "pending",
    "unclear",
    "answered",
    "approved",
    "effect",
    "hitl",
    "human",
)


@dataclass(kw_only=True)
class World:
    """Things of one agent, each on a run of its own, made when they are first named."""

    stage: Stage

    @property
    def house(self) -> House:
        return self.stage.house

    def afresh(self) -> "World":
        """The same people and agent, with other things."""
        return World(stage=self.stage)

    def complete(self) -> "World":
        """Make all of it now, so that nothing appears when it is named."""
        for name in (*NAMES, "free_branch", "context", "artifact"):
            assert getattr(self, name)
        return self

    @cached_property
    def run(self) -> Run:
        """Running, with one checkpoint."""
        run = self.stage.run()
        save_checkpoint(
            who=self.house.robot.principal,
            run_id=run.id,
            fence=run.fence,
            position=Position(parent=None, schema_version=1, payload=b"{}", header={}),
        )
        return run

    @cached_property
    def free_branch(self) -> int:
        """A branch of the run's session that no run is on."""
        who = self.house.robot.principal
        return branch_session(who=who, session_id=self.session).number

    @cached_property
    def artifact(self) -> str:
        """The digest of a file in the run's session."""
        who, upload = self.house.robot.principal, Upload(content=b"7", media_type=TEXT)
        put = put_artifact(who=who, session_id=self.session, upload=upload)
        return put.artifact.digest

    @cached_property
    def said(self) -> UUID:
        """A session in which something was said."""
        run, who = self.run, self.house.robot.principal
        place = {"session_id": run.session_id, "run_id": run.id, "fence": run.fence}
        append_items(who=who, items=['{"role":"user"}'], **place)
        return run.session_id

    @cached_property
    def context(self) -> str:
        """The digest of a recorded context of the run."""
        who = self.house.robot.principal
        found = record_context(who, run_id=self.run.id, wanted=Wanted())
        return found.digest.hex()

    @cached_property
    def pending(self) -> Request:
        return self.stage.ask(response_schema={"type": "string"})

    @cached_property
    def unclear(self) -> Request:
        """Bob asked for changes."""
        request = self.stage.ask()
        verdict = Decision.Verdict.REQUEST_CHANGES
        self.stage.answer(request, verdict=verdict, reason="Which invoice?")
        return request

    @cached_property
    def answered(self) -> Request:
        """Bob has turned one of the two keys that it needs."""
        self.stage.reviewer()
        rule = {"selector": "target == 'two keys'", "rules": [{"approvals": 2}]}
        self.stage.policy("two-keys", **rule)
        request = self.stage.ask(target="two keys")
        self.stage.answer(request)
        return request

    @cached_property
    def approved(self) -> Request:
        """Approved by Bob, and verified for its agent."""
        request = self.stage.ask()
        self.stage.answer(request)
        with tenant_transaction(self.stage.tenant_id):
            job = ResumeJob.objects.get(request=request)
        assert work(job.id) == "ready"
        return request

    @cached_property
    def hitl(self) -> Pause:
        """Two actions of a framework, asked about together."""
        return self._asked(HITL, 2)

    @cached_property
    def human(self) -> Pause:
        """One action, in the older form."""
        return self._asked(HUMAN, 1)

    def _asked(self, shape: Shape, many: int) -> Pause:
        asks = [Ask(tool="pay", arguments=ARGUMENTS)] * many
        requests, _ = request_together(
            self.house.robot.principal,
            asks=shape.named(asks),
            around=Around(subject="customer-7"),
            place=shape.place,
        )
        return requests[0].pause

    @cached_property
    def redeemed(self) -> Request:
        """Approved, and handed over to its agent, which has not reported yet."""
        return self.afresh().approved

    @cached_property
    def effect(self) -> UUID:
        """What was redeemed."""
        who, request = self.house.robot.principal, self.redeemed
        started = redeem(who, request_id=request.id, fence=request.run.fence)
        return started.effect.id

    @property
    def session(self) -> UUID:
        return self.run.session_id


class Named(Mapping[str, str]):
    """What the placeholders of an address stand for in a world."""

    def __init__(self, world: World, **instead: str) -> None:
        self.world, self.instead = world, instead

    def __getitem__(self, name: str) -> str:
        if name in self.instead:
            return self.instead[name]
        thing = getattr(self.world, name)
        return str(thing if isinstance(thing, UUID | str) else thing.id)

    def __iter__(self) -> Iterator[str]:
        return iter(NAMES)

    def __len__(self) -> int:
        return len(NAMES)


def fresh_world() -> World:
    """A tenant of its own, in which an agent can ask for a payment."""
    stage = fresh_stage()
    define_workflow(
        tenant_id=stage.tenant_id, by=Operator.CONSOLE, kind="default", definition={}
    )
    return World(stage=stage)


def action(**more: Any) -> dict[str, Any]:
    """The body of a request for the stage's one tool."""
    return {"tool": "pay", "arguments": ARGUMENTS, **more}
