"""One invoice's session and run on the server, and the right to write to it.

The run's lease says who its one writer is. Whoever writes shows the fencing token
of the claim; a successor's claim makes it stale, and then this process must stop.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import uuid4

from examples.invoice.keyturn_api import Answer, Json, Keyturn, Pause, Problem
from examples.invoice.progress import SCHEMA_VERSION, Progress, restore
from examples.invoice.tool_definitions import WORKFLOW_KIND

ENDED = frozenset({"completed", "failed", "cancelled"})
LEASE_SECONDS = 60
_TAKEN_OVER = frozenset({"stale_writer", "stale_checkpoint", "run_ended"})


class AnotherWriter(Exception):
    """Another process has taken this run over: nothing more may be done here."""


@dataclass(slots=True)
class Task:
    """A run that this process may have claimed. `name` is its external id."""

    api: Keyturn
    name: str
    session_id: str
    run_id: str
    fence: int | None = None

    @classmethod
    def open(cls, api: Keyturn, name: str, *, subject: str, title: str) -> "Task":
        """Find the task's session and run by the task's name, or create them."""
        serves = {"subject": subject, "title": title, "external_id": name}
        session = _once(api, "sessions", serves).body["id"]
        kind = {"workflow": WORKFLOW_KIND, "external_id": name}
        run = _once(api, f"sessions/{session}/runs", kind)
        # Whoever creates a run has claimed it with that; who finds it has not.
        fence = run.body["fence"] if run.created else None
        return cls(api, name, session, run.body["id"], fence)

    def run(self) -> Json:
        """The run as the server has it now."""
        return self.api.get(f"runs/{self.run_id}")

    def claim(self) -> None:
        """Become the run's one writer, after whoever is it now."""
        pause = Pause(self.api.patience)
        while self.fence is None:
            try:
                self.fence = self._claimed()
            except Problem as problem:
                if problem.code != "lease_held":
                    raise _understood(problem, self.name) from problem
                pause.take(f"{self.name}: another process holds the lease")

    def let_go(self) -> None:
        """Forget the claim before a wait in which others may need to write."""
        self.fence = None

    def pick_up(self, invoice_id: str) -> Progress:
        """Where the run's head checkpoint says that the work stopped.

        A run that is under way is claimed first: whoever wrote to it until now can do
        so no more, and what is read stays true. A paused one is everybody's to read.
        """
        if self.run()["state"] == "running":
            self.claim()
        if self.run()["head"] is None:
            return Progress(invoice_id=invoice_id)
        path = f"runs/{self.run_id}/checkpoints/head/restore"
        head = self.api.post(path, {}, key=f"{self.run_id}/restore").body
        return restore(head["payload"], schema_version=head["schema_version"])

    def save(self, progress: Progress) -> None:
        """Write the next checkpoint."""
        checkpoint = self.checkpoint(progress)
        self.write(
            f"runs/{self.run_id}/checkpoints",
            checkpoint,
            step=f"checkpoint/{checkpoint['parent']}",
        )

    def checkpoint(self, progress: Progress) -> Json:
        """The checkpoint that follows the head, as the API takes it."""
        head = self.run()["head"]
        return {
            "parent": head["number"] if head else None,
            "schema_version": SCHEMA_VERSION,
            "payload": progress.payload(),
            "header": progress.header(),
        }

    def pause(self, progress: Progress, request: Json) -> None:
        """Write the next checkpoint and ask, both or neither."""
        checkpoint = self.checkpoint(progress)
        self.write(
            f"runs/{self.run_id}/pause",
            {"checkpoint": checkpoint, "requests": [request]},
            step=f"pause/{checkpoint['parent']}",
        )

    def complete(self, result: Json) -> None:
        self.write(f"runs/{self.run_id}/complete", {"result": result}, step="complete")

    def fail(self, reason: str) -> None:
        self.write(f"runs/{self.run_id}/fail", {"reason": reason}, step="fail")

    def say(self, items: Iterable[Json], *, step: str) -> None:
        """Add to the conversation, once per step."""
        body = {"items": list(items), "run": self.run_id}
        self.write(f"sessions/{self.session_id}/items", body, step=f"{step}/items")

    def record(
        self, facts: Json, *, stage: str, reason: str, again: bool = False
    ) -> None:
        """Record facts and the stage they lead to, unless they are recorded already.

        With `again` they are recorded in any case, as observed now.
        """
        while True:
            run = self.run()
            if not again and _recorded(run, facts, stage):
                return
            version = run["version"]
            body = {"facts": facts, "stage": stage, "reason": reason}
            body |= {"expected_version": version}
            step = f"{stage}/{version}"
            try:
                self.write(f"runs/{self.run_id}/transitions", body, step=step)
                return
            except Problem as problem:
                if problem.code != "stale_version":
                    raise

    def write(self, path: str, body: Json, *, step: str) -> Json:
        """POST as the run's one writer, once per step; raises `AnotherWriter`."""
        self.claim()
        try:
            return self.send(path, body, step=step, fence=self.fence)
        except Problem as problem:
            raise _understood(problem, self.name) from problem

    def send(
        self, path: str, body: Json, *, step: str, fence: int | None = None
    ) -> Json:
        """POST, once per step."""
        key = f"{self.run_id}/{step}"
        return self.api.post(path, body, key=key, fence=fence).body

    def _claimed(self) -> int:
        body = {"lease_seconds": LEASE_SECONDS}
        claimed = _once(self.api, f"runs/{self.run_id}/claim", body)
        fence: int = claimed.body["fence"]
        return fence


def _once(api: Keyturn, path: str, body: Json) -> Answer:
    """POST under a key of this call alone.

    Another process that opens or claims the same must get an answer of its own: the
    stored one would make it believe that the claim in it is its own.
    """
    return api.post(path, body, key=uuid4().hex)


def _understood(problem: Problem, name: str) -> Exception:
    """What a refused write means: mostly that somebody else writes here now."""
    return AnotherWriter(name) if problem.code in _TAKEN_OVER else problem


def _recorded(run: Json, facts: Json, stage: str) -> bool:
    return run["stage"] == stage and all(
        name in run["facts"] and run["facts"][name]["value"] == fact["value"]
        for name, fact in facts.items()
    )
