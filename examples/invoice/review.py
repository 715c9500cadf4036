"""From asking to knowing: wait for people, and do what the answer says.

Every answer has a `next`, and each has one function here. All of them may be called
again after a crash: they ask the server what is true before they do anything.
"""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from uuid import uuid4

from examples.invoice.actions import CORRECTION, reworded
from examples.invoice.external_call import CorrectionSystem
from examples.invoice.progress import Outcome
from examples.invoice.task import Task
from keyturn import Approval, Conflict, HandedEffect, VerificationRefused
from keyturn.flows import LONGEST_WAIT

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
        self.tell(f"asks for {approval.tool}: {approval.review_url}")
        while (outcome := self._outcome(approval)) is None:
            approval = self._go_on(approval, keep_fresh)
        return outcome

    def _find(self, tool_call_id: str) -> Approval:
        asked = self.task.api.list_approvals(run=self.task.run_id).items
        found = next(one for one in asked if one.tool_call_id == tool_call_id)
        return self._read(found)

    def _read(self, approval: Approval, *, wait: int = 0) -> Approval:
        # Whoever else may write to the run while it is paused does so now.
        self.task.let_go()
        return self.task.api.get_approval(approval.id, wait=wait)

    def _outcome(self, approval: Approval) -> Outcome | None:
        match approval.next:
            case "done":
                return _done(approval)
            case "use_answer":
                said = json.dumps(approval.response, ensure_ascii=False)
                return Outcome(result="answered", detail=said[:1_000])
            case "stop":
                return Outcome(result="not_approved", detail=approval.status)
        return None

    def _go_on(self, approval: Approval, keep_fresh: Callable[[], None]) -> Approval:
        match approval.next:
            case "wait":
                keep_fresh()
                return self._read(approval, wait=LONGEST_WAIT)
            case "revise":
                self._revise(approval)
            case "redeem":
                self._redeem(approval)
            case unknown:
                raise ValueError(f"this agent does not know what {unknown!r} asks")
        return self._read(approval)

    def _revise(self, approval: Approval) -> None:
        api, id = self.task.api, approval.id
        better = reworded(approval.tool, approval.arguments)
        if better is None:
            self.tell("changes are asked for, and there is nothing better to say")
            why, step = "The agent has no other wording to offer.", f"{id}/withdraw"
            with _overtaken():
                self.task.send(api.withdraw_approval, id, reason=why, step=step)
        else:
            revision = approval.revision + 1
            self.tell(f"changes are asked for: revision {revision}")
            step = f"{id}/{revision}"
            with _overtaken():
                self.task.send(api.revise_approval, id, arguments=better, step=step)

    def _redeem(self, approval: Approval) -> None:
        effect = self._redeemed(approval)
        if effect is None:
            return
        self.tell(f"carrying out {effect.tool}, attempt {effect.attempt}")
        not_after = effect.not_after.isoformat()
        report = self.corrections.carry_out(asdict(effect) | {"not_after": not_after})
        self.tell(f"{report.outcome} {report.external_id or report.evidence}")
        with _overtaken():
            self.task.write(
                self.task.api.report_effect,
                effect.id,
                attempt=effect.attempt,
                outcome=report.outcome,
                external_id=report.external_id or None,
                evidence={"said": report.evidence} if report.evidence else None,
                step=f"{effect.id}/{effect.attempt}/{report.outcome}",
            )

    def _redeemed(self, approval: Approval) -> HandedEffect | None:
        """The started effect, or None when Keyturn says that it may not start now."""
        # A refusal is kept under its key: asking again is another step. An effect
        # that was handed over is handed over again, whatever the key.
        step = f"{approval.id}/redeem/{uuid4().hex}"
        redeem = self.task.api.redeem_approval
        try:
            with _overtaken():
                return self.task.write(redeem, approval.id, step=step).effect
        except VerificationRefused as refused:
            self.tell(f"not now: {refused}")
            time.sleep(ASK_AGAIN)
        return None


@contextmanager
def _overtaken() -> Iterator[None]:
    """People and time move on meanwhile: what they did, the next reading tells."""
    try:
        yield
    except Conflict as conflict:
        if conflict.code not in _OVERTAKEN:
            raise


def _done(approval: Approval) -> Outcome:
    effect = approval.effect
    assert effect is not None
    if effect.state != "confirmed":
        return Outcome(result="failed", detail=effect.state)
    result = "sent" if approval.tool == CORRECTION else "held"
    proof = f"effect {effect.id}"
    return Outcome(result=result, external_id=effect.external_id, detail=proof)
