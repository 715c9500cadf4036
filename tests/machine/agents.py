"""What agents do: open, ask, revise, withdraw, claim, redeem, report, end."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from approvals.asks import Ask
from approvals.services.ending_runs import close_questions
from approvals.services.pause import pause_run
from approvals.services.redeem import redeem
from approvals.services.report import report_effect
from approvals.services.request import request_approval
from approvals.services.revise import revise, withdraw
from checkpoints.checkpoint import Position
from checkpoints.services.checkpoints import save_checkpoint
from kernel.ids import new_id
from kernel.problems import Problem
from sessions.contract import Claim
from sessions.services.runs import (
    cancel_run,
    claim_run,
    complete_run,
    fail_run,
    heartbeat,
    record_transition,
    start_run,
)
from sessions.services.sessions import open_session
from tenants.idempotency import Once, Replayed
from tests.machine.machine import PICK, SELDOM, Base, has, of
from tests.machine.world import TOOLS

AMOUNTS: Final = ("1.00", "2.00", "50.00")
READY: Final = ((), ({"field": "ready", "equals": True, "max_age": 600},))
MOST_RUNS: Final = 3
GOING: Final = ("running", "paused", "resuming", "needs_attention")
VERBS: Final = (
    *(2 * ("claim", "heartbeat", "checkpoint")),
    *("complete", "fail", "cancel"),
)

asks = st.builds(
    dict,
    tool=st.sampled_from(sorted(TOOLS)),
    amount=st.sampled_from(AMOUNTS),
    preconditions=st.sampled_from([(), *READY]),
    risk=st.sampled_from([None, None, "critical"]),
    decide_within=st.sampled_from([None, None, 60]),
    use_within=st.sampled_from([None, None, 60]),
)


def ask_of(drawn: dict[str, Any]) -> Ask:
    drawn = dict(drawn)
    arguments = {"payee": "Halden", "amount": drawn.pop("amount")}
    return Ask(arguments=arguments, **drawn)


class Agents(Base):
    """One agent, in as many processes as like; some of them lag behind."""

    def once(self, what: str, *about: object) -> Once:
        """The same request again would have the same key and body."""
        body = hashlib.sha256(repr((what, *about)).encode()).digest()
        return Once(
            principal=self.world.principal.key_id,
            key=new_id().hex,
            body_hash=body,
            render=lambda _: (200, "{}"),
        )

    def repeatable(self, what: str, act: Any, *about: object) -> Any:
        """Do it, and remember it as something whose answer may get lost."""
        once = self.once(what, *about)
        result = act(once)
        self.said_before.append((what, lambda: act(once)))
        return result

    def fence(self, run: Any, stale: bool) -> int:
        return int(run.fence) - 1 if stale else int(run.fence)

    @contextmanager
    def writing(self, what: str, stale: bool) -> Iterator[None]:
        """A step that the run's one writer alone may take, and that is no replay."""
        with self.step(what):
            yield
            if stale:
                self.blame([f"{what} was done under an old fence"])

    @initialize(
        drawn=st.lists(asks, min_size=1, max_size=3),
        until=st.sampled_from(["all", "each"]),
        ready=st.booleans(),
    )
    def begin(self, drawn: list[dict[str, Any]], until: str, ready: bool) -> None:
        """A run that asks; without that, nothing else could happen."""
        self.set_up()
        with self.step("open"):
            who = self.world.principal
            session = open_session(who=who, subject="customer-7")
            run, _ = start_run(who=who, session_id=session.id)
            if ready:
                self._state(run, True)
            self._pause(run, drawn, until)

    def _state(self, run: Any, ready: bool, *, stale: bool = False) -> None:
        record_transition(
            who=self.world.principal,
            run_id=run.id,
            fence=self.fence(run, stale),
            expected_version=run.version,
            facts={
                "ready": Claim(
                    value=ready,
                    provenance="tool",
                    reference="ready",
                    evidence_digest="ab",
                )
            },
            reason="Looked.",
        )

    @has("runs", *GOING)
    @rule(pick=PICK, ready=st.booleans(), stale=SELDOM)
    def state_a_fact(self, pick: int, ready: bool, stale: bool) -> None:
        run = self.choose(self.runs(*GOING), pick)
        with self.writing("fact", stale):
            self._state(run, ready, stale=stale)

    @has("runs", "running")
    @rule(
        pick=PICK,
        drawn=st.lists(asks, min_size=1, max_size=3),
        until=st.sampled_from(["all", "each"]),
        stale=SELDOM,
    )
    def pause(
        self, pick: int, drawn: list[dict[str, Any]], until: str, stale: bool
    ) -> None:
        run = self.choose(self.runs("running"), pick)
        with self.writing(f"pause on {len(drawn)}, {until}", stale):
            self._pause(run, drawn, until, stale=stale)

    def _pause(
        self, run: Any, drawn: list[dict[str, Any]], until: str, *, stale: bool = False
    ) -> None:
        position = self._position(run)
        self.repeatable(
            "pause",
            lambda once: pause_run(
                self.world.principal,
                run_id=run.id,
                fence=self.fence(run, stale),
                position=position,
                asks=[ask_of(one) for one in drawn],
                resume_when=until,
                once=once,
            ),
            run.id,
            repr(drawn),
        )

    def _position(self, run: Any) -> Position:
        return Position(
            parent=run.head_number, schema_version=1, payload=b"{}", header={}
        )

    @precondition(lambda self: len(self.sight.runs) < MOST_RUNS)
    @rule(drawn=asks)
    def ask_in_one_call(self, drawn: dict[str, Any]) -> None:
        with self.step("one call"):
            request_approval(
                self.world.principal, ask=ask_of(drawn), subject="customer-8"
            )

    @has("requests", "changes_requested")
    @rule(pick=PICK, amount=st.sampled_from(AMOUNTS))
    def revise(self, pick: int, amount: str) -> None:
        request = self.choose(self.requests("changes_requested"), pick)
        with self.step(f"revise {request.state}"):
            revise(
                self.world.principal,
                request_id=request.id,
                arguments={"payee": "Other", "amount": amount},
            )

    @has("requests", "pending", "changes_requested", "approved", "consumed")
    @rule(pick=PICK, seldom=SELDOM)
    def withdraw(self, pick: int, seldom: bool) -> None:
        if not seldom:
            return
        request = self.choose(
            self.requests("pending", "changes_requested", "approved", "consumed"), pick
        )
        with self.step(f"withdraw {request.state}"):
            withdraw(self.world.principal, request_id=request.id, reason="No need.")

    def _redeemable(self) -> list[Any]:
        tools = {tool.id for tool in self.sight.tools if tool.mode == "agent"}
        asked = self.requests("approved", "consumed")
        return [one for one in asked if one.tool_id in tools]

    @precondition(lambda self: bool(self._redeemable()))
    @rule(pick=PICK, stale=SELDOM)
    def redeem(self, pick: int, stale: bool) -> None:
        request = self.choose(self._redeemable(), pick)
        run = of(self.sight.runs, request.run_id)
        with self.writing(f"redeem {request.state}", stale):
            fence = self.fence(run, stale)
            self.repeatable(
                "redeem",
                lambda once: redeem(
                    self.world.principal,
                    request_id=request.id,
                    fence=fence,
                    once=once,
                ),
                request.id,
                fence,
            )

    def _reportable(self) -> list[Any]:
        tools = {tool.id for tool in self.sight.tools if tool.mode == "agent"}
        return [one for one in self.sight.effects if one.tool_id in tools]

    @precondition(lambda self: bool(self._reportable()))
    @rule(
        pick=PICK,
        outcome=st.sampled_from(["confirmed", "confirmed", "failed", "unknown"]),
        stale=SELDOM,
    )
    def report(self, pick: int, outcome: str, stale: bool) -> None:
        effect = self.choose(self._reportable(), pick)
        run = of(self.sight.runs, effect.run_id)
        with self.step(f"report {outcome} of {effect.state}"):
            fence = self.fence(run, stale)
            self.repeatable(
                "report",
                lambda once: report_effect(
                    self.world.principal,
                    effect_id=effect.id,
                    attempt=effect.attempt,
                    fence=fence,
                    outcome=outcome,
                    once=once,
                ),
                effect.id,
                outcome,
            )

    @precondition(lambda self: bool(self.said_before))
    @rule(pick=PICK)
    def say_it_again(self, pick: int) -> None:
        """The answer got lost: the same request must change nothing."""
        what, act = self.said_before[pick % len(self.said_before)]
        try:
            act()
        except Replayed:
            self.tell(f"again: {what}")
        except Problem as problem:
            self.blame([f"{what} was carried out anew: {problem.code}"])
        else:
            self.blame([f"{what} was done twice under one idempotency key"])

    @has("runs", *GOING)
    @rule(pick=PICK, verb=st.sampled_from(VERBS), stale=SELDOM)
    def lead_the_run(self, pick: int, verb: str, stale: bool) -> None:
        run = self.choose(self.runs(*GOING), pick)
        fence = self.fence(run, stale)
        known = {"who": self.world.principal, "run_id": run.id}
        closing = {"reason": "Enough.", "closing": close_questions}
        with self.writing(f"{verb} {run.state}", stale and verb != "claim"):
            match verb:
                case "claim":
                    claim_run(**known, lease_seconds=60)
                case "heartbeat":
                    heartbeat(**known, fence=fence)
                case "checkpoint":
                    position = self._position(run)
                    save_checkpoint(**known, fence=fence, position=position)
                case "complete":
                    complete_run(**known, fence=fence)
                case "fail":
                    fail_run(**known, fence=fence, **closing)
                case "cancel":
                    cancel_run(**known, fence=fence, **closing)

    @has("requests", "pending")
    @rule(pick=PICK, seldom=SELDOM)
    def try_to_decide(self, pick: int, seldom: bool) -> None:
        """A key never decides."""
        if not seldom:
            return
        request = self.choose(self.requests("pending"), pick)
        client = self.world.robot.client()
        url = f"/api/v1/approvals/{request.id}"
        digest = bytes(self.sight.current(request).digest).hex()
        answer = client.post(
            f"{url}/decisions",
            {"verdict": "approve", "digest": digest},
            content_type="application/json",
        )
        self.tell(f"key decides: {answer.json()['code']}")
        if answer.status_code not in {401, 403}:
            self.blame([f"a key was answered {answer.status_code}"])
