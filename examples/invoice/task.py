"""One invoice's session and run on the server, and the right to write to it.

The run's lease says who its one writer is. Whoever writes shows the fencing token
of the claim; a successor's claim makes it stale, and then this process must stop.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from examples.invoice.progress import SCHEMA_VERSION, Progress, restore
from examples.invoice.tool_definitions import WORKFLOW_KIND
from keyturn import Ask, Client, Conflict, Fact, Position
from keyturn.documents import RunDocument
from keyturn.flows import claim

ENDED = frozenset({"completed", "failed", "cancelled"})
LEASE_SECONDS = 60
_TAKEN_OVER = frozenset({"stale_writer", "stale_checkpoint", "run_ended"})


T = TypeVar("T")


class AnotherWriter(Exception):
    """Another process has taken this run over: nothing more may be done here."""


@dataclass(slots=True)
class Task:
    """A run that this process may have claimed. `name` is its external id."""

    api: Client
    name: str
    session_id: str
    run_id: str
    fence: int | None = None

    @classmethod
    def open(cls, api: Client, name: str, *, subject: str, title: str) -> "Task":
        """Find the task's session and run by the task's name, or create them."""
        session = api.open_session(subject=subject, title=title, external_id=name)
        run = api.start_run(session.id, workflow=WORKFLOW_KIND, external_id=name)
        return cls(api, name, session.id, run.id)

    def run(self) -> RunDocument:
        """The run as the server has it now."""
        return self.api.get_run(self.run_id)

    def claim(self) -> None:
        """Become the run's one writer, after whoever is it now."""
        if self.fence is not None:
            return
        waiting = claim(
            self.api,
            self.run_id,
            lease_seconds=LEASE_SECONDS,
            patience=self.api.patience,
        )
        try:
            self.fence = self.api.drive(waiting)
        except Conflict as conflict:
            raise _understood(conflict, self.name) from conflict

    def let_go(self) -> None:
        """Forget the claim before a wait in which others may need to write."""
        self.fence = None

    def pick_up(self, invoice_id: str) -> Progress:
        """Where the run's head checkpoint says that the work stopped.

        A run that is under way is claimed first: whoever wrote to it until now can do
        so no more, and what is read stays true. A paused one is everybody's to read.
        """
        if self.run().state == "running":
            self.claim()
        if self.run().head is None:
            return Progress(invoice_id=invoice_id)
        key = f"{self.run_id}/restore"
        head = self.api.restore_checkpoint(self.run_id, "head", key=key)
        return restore(head.payload, schema_version=head.schema_version)

    def save(self, progress: Progress) -> None:
        """Write the next checkpoint."""
        position = self.position(progress)
        step = f"checkpoint/{position.parent}"
        self.write(self.api.save_checkpoint, self.run_id, position, step=step)

    def position(self, progress: Progress) -> Position:
        """The checkpoint that follows the head."""
        head = self.run().head
        return Position(
            parent=head.number if head else None,
            schema_version=SCHEMA_VERSION,
            payload=progress.payload(),
            **progress.header(),
        )

    def pause(self, progress: Progress, ask: Ask) -> None:
        """Write the next checkpoint and ask, both or neither."""
        position = self.position(progress)
        step = f"pause/{position.parent}"
        self.write(self.api.pause_run, self.run_id, position, [ask], step=step)

    def complete(self, result: dict[str, Any]) -> None:
        self.write(self.api.complete_run, self.run_id, result=result, step="complete")

    def fail(self, reason: str) -> None:
        self.write(self.api.fail_run, self.run_id, reason=reason, step="fail")

    def say(self, items: Iterable[Any], *, step: str) -> None:
        """Add to the conversation, once per step."""
        said, step = list(items), f"{step}/items"
        add = self.api.append_items
        self.write(add, self.session_id, said, run=self.run_id, step=step)

    def record(
        self, facts: Mapping[str, Fact], *, stage: str, reason: str, again: bool = False
    ) -> None:
        """Record facts and the stage they lead to, unless they are recorded already.

        With `again` they are recorded in any case, as observed now.
        """
        while True:
            run = self.run()
            if not again and _recorded(run, facts, stage):
                return
            try:
                self.write(
                    self.api.record_transition,
                    self.run_id,
                    facts=facts,
                    stage=stage,
                    reason=reason,
                    expected_version=run.version,
                    step=f"{stage}/{run.version}",
                )
                return
            except Conflict as conflict:
                if conflict.code != "stale_version":
                    raise

    def write(
        self, operation: Callable[..., T], *words: Any, step: str, **more: Any
    ) -> T:
        """Change something as the run's one writer; raises `AnotherWriter`."""
        self.claim()
        try:
            return self.send(operation, *words, step=step, fence=self.fence, **more)
        except Conflict as conflict:
            raise _understood(conflict, self.name) from conflict

    def send(
        self, operation: Callable[..., T], *words: Any, step: str, **more: Any
    ) -> T:
        """Change something once per step, whoever repeats it."""
        return operation(*words, key=f"{self.run_id}/{step}", **more)


def _understood(conflict: Conflict, name: str) -> Exception:
    """What a refused write means: mostly that somebody else writes here now."""
    return AnotherWriter(name) if conflict.code in _TAKEN_OVER else conflict


def _recorded(run: RunDocument, facts: Mapping[str, Fact], stage: str) -> bool:
    return run.stage == stage and all(
        name in run.facts and run.facts[name].value == fact.value
        for name, fact in facts.items()
    )
