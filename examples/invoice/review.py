"""From asking to knowing: wait for people, and do what the answer says.

Every answer has a `next`, and each has one function here. All of them may be called
again after a crash: they ask the server what is true before they do anything.
"""

from collections.abc import Callable
from dataclasses import dataclass

from examples.invoice.actions import CORRECTION, reworded
from examples.invoice.external_call import CorrectionSystem, Report
from examples.invoice.keyturn_api import LONGEST_WAIT, Json, Pause, Problem
from examples.invoice.progress import Outcome
from examples.invoice.task import Task


@dataclass(frozen=True, slots=True)
class Review:
    """One request of a task; `tell` writes a line of the log."""

    task: Task
    corrections: CorrectionSystem
    tell: Callable[[str], None]
    refused: Pause

    def until_settled(self, tool_call_id: str) -> Outcome:
        """Wait, revise and act until the request has an outcome."""
        approval = self._find(tool_call_id)
        self.tell(f"waiting for a person: {approval['review_url']}")
        while (outcome := self._outcome(approval)) is None:
            approval = self._go_on(approval)
        return outcome

    def _find(self, tool_call_id: str) -> Json:
        asked = self.task.api.get("approvals", run=self.task.run_id)["results"]
        found = next(one for one in asked if one["tool_call_id"] == tool_call_id)
        return self.task.api.get(f"approvals/{found['id']}")

    def _outcome(self, approval: Json) -> Outcome | None:
        match approval["next"]:
            case "done":
                return _done(approval)
            case "use_answer":
                return Outcome(result="answered", detail=str(approval["response"]))
            case "stop":
                return Outcome(result="not_approved", detail=approval["status"])
        return None

    def _go_on(self, approval: Json) -> Json:
        match approval["next"]:
            case "revise":
                self._revise(approval)
            case "redeem":
                self._redeem(approval)
            case "wait":
                return self._wait(approval)
            case unknown:
                raise ValueError(f"this agent does not know what {unknown!r} asks")
        return self.task.api.get(f"approvals/{approval['id']}")

    def _wait(self, approval: Json) -> Json:
        # The worker may need to write to the run now, and so may whoever recovers it.
        self.task.let_go()
        until = "done" if approval["status"] in ("approved", "consumed") else "decided"
        path = f"approvals/{approval['id']}"
        return self.task.api.get(path, wait=LONGEST_WAIT, until=until)

    def _revise(self, approval: Json) -> None:
        better = reworded(approval["tool"], approval["arguments"])
        path = f"approvals/{approval['id']}"
        if better is None:
            self.tell("changes are asked for, and there is nothing better to say")
            body: Json = {"reason": "The agent has no other wording to offer."}
            self.task.write(f"{path}/withdraw", body, step=f"{path}/withdraw")
        else:
            revision = approval["revision"] + 1
            self.tell(f"changes are asked for: revision {revision}")
            body = {"arguments": better}
            self.task.write(f"{path}/revise", body, step=f"{path}/{revision}")

    def _redeem(self, approval: Json) -> None:
        effect = self._redeemed(approval)
        if effect is None:
            return
        self.tell(f"carrying out {effect['tool']}, attempt {effect['attempt']}")
        report = self.corrections.carry_out(effect)
        self.tell(f"{report.outcome} {report.external_id or report.evidence}")
        path = f"effects/{effect['id']}/report"
        step = f"{path}/{effect['attempt']}/{report.outcome}"
        self.task.write(path, _told(effect, report), step=step)

    def _redeemed(self, approval: Json) -> Json | None:
        """The started effect, or None when Keyturn says that it may not start now."""
        path = f"approvals/{approval['id']}/redeem"
        step = f"{path}/{approval['revision']}"
        try:
            effect: Json = self.task.write(path, {}, step=step)["effect"]
        except Problem as problem:
            if "class" not in problem.document:
                raise
            self.refused.take(f"not now: {problem}")
            return None
        return effect


def _done(approval: Json) -> Outcome:
    effect = approval["effect"]
    if effect["state"] != "confirmed":
        return Outcome(result="failed", detail=effect["state"])
    result = "sent" if approval["tool"] == CORRECTION else "held"
    return Outcome(result=result, external_id=effect["external_id"])


def _told(effect: Json, report: Report) -> Json:
    told: Json = {"attempt": effect["attempt"], "outcome": report.outcome}
    if report.external_id:
        told["external_id"] = report.external_id
    if report.evidence:
        told["evidence"] = {"said": report.evidence}
    return told
