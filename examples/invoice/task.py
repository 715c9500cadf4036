"""One invoice's session and run on the server, and the right to write to it.

The run's lease says who its one writer is. Whoever writes shows the fencing token
of the claim; a successor's claim makes it stale, and then this process must stop.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import uuid4

from examples.invoice.keyturn_api import Json, Keyturn, Pause, Problem
from examples.invoice.progress import SCHEMA_VERSION, Progress, restore
from examples.invoice.tool_definitions import WORKFLOW_KIND

ENDED = frozenset({"completed", "failed", "cancelled"})
LEASE_SECONDS = 60


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
        """Find the task's session and run by their external id, or create them."""
        session = _first(api.get("sessions", external_id=name)) or _once(
            api, "sessions", {"subject": subject, "title": title, "external_id": name}
        )
        run = _first(api.get("runs", external_id=name)) or _once(
            api,
            f"sessions/{session['id']}/runs",
            {"workflow": WORKFLOW_KIND, "external_id": name},
        )
        return cls(api, name, session["id"], run["id"])

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
                    raise
                pause.take(f"{self.name}: another process holds the lease")

    def let_go(self) -> None:
        """Forget the claim before a wait in which others may need to write."""
        self.fence = None

    def progress(self, invoice_id: str) -> Progress:
        """Where the run's head checkpoint says that the work stopped."""
        if self.run()["head"] is None:
            return Progress(invoice_id=invoice_id)
        head = self.api.get(f"runs/{self.run_id}/checkpoints/head")
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
        key = f"{self.run_id}/{step}/items"
        self.api.post(f"sessions/{self.session_id}/items", body, key=key)

    def record(self, facts: Json, *, stage: str, reason: str) -> None:
        """Record facts that are not recorded yet, and the stage they lead to."""
        run = self.run()
        while run["stage"] != stage or not _holds(run["facts"], facts):
            version = run["version"]
            body = {"facts": facts, "stage": stage, "reason": reason}
            body |= {"expected_version": version}
            try:
                self.write(
                    f"runs/{self.run_id}/transitions", body, step=f"{stage}/{version}"
                )
            except Problem as problem:
                if problem.code != "stale_version":
                    raise
            run = self.run()

    def write(self, path: str, body: Json, *, step: str) -> Json:
        """POST as the run's one writer, once per step; raises `AnotherWriter`."""
        self.claim()
        key = f"{self.run_id}/{step}"
        try:
            return self.api.post(path, body, key=key, fence=self.fence)
        except Problem as problem:
            if problem.code == "stale_writer":
                raise AnotherWriter(self.name) from problem
            raise

    def _claimed(self) -> int:
        body = {"lease_seconds": LEASE_SECONDS}
        fence: int = _once(self.api, f"runs/{self.run_id}/claim", body)["fence"]
        return fence


def _once(api: Keyturn, path: str, body: Json) -> Json:
    """POST under a key of this call alone.

    Another process that opens or claims the same must get an answer of its own: the
    stored one would make it believe that the claim in it is its own.
    """
    return api.post(path, body, key=uuid4().hex)


def _first(listing: Json) -> Json | None:
    results: list[Json] = listing["results"]
    return results[0] if results else None


def _holds(recorded: Json, facts: Json) -> bool:
    return all(
        name in recorded and recorded[name]["value"] == fact["value"]
        for name, fact in facts.items()
    )
