"""From asking to knowing: wait for people, and do what the answer says.

Every answer has a `next`, and each has one function here. All of them may be called
again after a crash: they ask the server what is true before they do anything.
"""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import uuid4

from examples.invoice.actions import CORRECTION, reworded
from examples.invoice.external_call import CorrectionSystem, Report
from examples.invoice.keyturn_api import LONGEST_WAIT, Json, Problem
from examples.invoice.progress import Outcome
from examples.invoice.task import Task

ASK_AGAIN = 1.0  # seconds between two tries to redeem
_OVERTAKEN = frozenset(
    {"not_revisable", "too_late", "not_approved", "outcome_conflict"}
)


@dataclass(frozen=True, slots=True)
class Review:
    """One request of a task; `tell` writes a line of the log."""

    task: Task
    corrections: CorrectionSystem
    tell: Callable[[str], None]

    def until_settled(
        self, tool_call_id: str, keep_fresh: Callable[[], None]
    ) -> Outcome:
        """Wait, revise and act until the request has an outcome.

        `keep_fresh` is called before each wait, so that what the request rests on is
        still young enough when somebody approves it.
        """
        approval = self._find(tool_call_id)
        self.tell(f"asks for {approval['tool']}: {approval['review_url']}")
        while (outcome := self._outcome(approval)) is None:
            approval = self._go_on(approval, keep_fresh)
        return outcome

    def _find(self, tool_call_id: str) -> Json:
        asked = self.task.api.get("approvals", run=self.task.run_id)["items"]
        found = next(one for one in asked if one["tool_call_id"] == tool_call_id)
        return self._read(found)

    def _read(self, approval: Json, **query: str | int) -> Json:
        # Whoever else may write to the run while it is paused does so now.
        self.task.let_go()
        return self.task.api.get(f"approvals/{approval['id']}", **query)

    def _outcome(self, approval: Json) -> Outcome | None:
        match approval["next"]:
            case "done":
                return _done(approval)
            case "use_answer":
                said = json.dumps(approval["response"], ensure_ascii=False)
                return Outcome(result="answered", detail=said[:1_000])
            case "stop":
                return Outcome(result="not_approved", detail=approval["status"])
        return None

    def _go_on(self, approval: Json, keep_fresh: Callable[[], None]) -> Json:
        match approval["next"]:
            case "wait":
                keep_fresh()
                return self._read(approval, wait=LONGEST_WAIT, until="done")
            case "revise":
                self._revise(approval)
            case "redeem":
                self._redeem(approval)
            case unknown:
                raise ValueError(f"this agent does not know what {unknown!r} asks")
        return self._read(approval)

    def _revise(self, approval: Json) -> None:
        better = reworded(approval["tool"], approval["arguments"])
        path = f"approvals/{approval['id']}"
        if better is None:
            self.tell("changes are asked for, and there is nothing better to say")
            body: Json = {"reason": "The agent has no other wording to offer."}
            with _overtaken():
                self.task.send(f"{path}/withdraw", body, step=f"{path}/withdraw")
        else:
            revision = approval["revision"] + 1
            self.tell(f"changes are asked for: revision {revision}")
            body = {"arguments": better}
            with _overtaken():
                self.task.send(f"{path}/revise", body, step=f"{path}/{revision}")

    def _redeem(self, approval: Json) -> None:
        effect = self._redeemed(approval)
        if effect is None:
            return
        self.tell(f"carrying out {effect['tool']}, attempt {effect['attempt']}")
        report = self.corrections.carry_out(effect)
        self.tell(f"{report.outcome} {report.external_id or report.evidence}")
        path = f"effects/{effect['id']}/report"
        step = f"{path}/{effect['attempt']}/{report.outcome}"
        with _overtaken():
            self.task.write(path, _told(effect, report), step=step)

    def _redeemed(self, approval: Json) -> Json | None:
        """The started effect, or None when Keyturn says that it may not start now."""
        path = f"approvals/{approval['id']}/redeem"
        # A refusal is kept under its key: asking again is another step. An effect
        # that was handed over is handed over again, whatever the key.
        step = f"{path}/{uuid4().hex}"
        try:
            with _overtaken():
                effect: Json = self.task.write(path, {}, step=step)["effect"]
                return effect
        except Problem as problem:
            if "class" not in problem.document:
                raise
            self.tell(f"not now: {problem}")
            time.sleep(ASK_AGAIN)
        return None


@contextmanager
def _overtaken() -> Iterator[None]:
    """People and time move on meanwhile: what they did, the next reading tells."""
    try:
        yield
    except Problem as problem:
        if problem.code not in _OVERTAKEN:
            raise


def _done(approval: Json) -> Outcome:
    effect = approval["effect"]
    if effect["state"] != "confirmed":
        return Outcome(result="failed", detail=effect["state"])
    result = "sent" if approval["tool"] == CORRECTION else "held"
    proof = f"effect {effect['id']}"
    return Outcome(result=result, external_id=effect["external_id"], detail=proof)


def _told(effect: Json, report: Report) -> Json:
    told: Json = {"attempt": effect["attempt"], "outcome": report.outcome}
    if report.external_id:
        told["external_id"] = report.external_id
    if report.evidence:
        told["evidence"] = {"said": report.evidence}
    return told
