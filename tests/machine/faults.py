"""What happens by itself: workers, deaths, deliveries, tools that misbehave, and time."""

from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from approvals.resume.sweep import sweep
from tests.machine.administrators import Administrators
from tests.machine.company import BEHAVIOURS
from tests.machine.machine import PICK
from tests.machine.workers import DEATHS, HOLDS, Held, work_until

SPANS: Final = (1, 20, 100, 700, 4_000, 100_000)  # seconds
MOST_HELD: Final = 2


class Keyturn(Administrators):
    """Everything together: this is the machine."""

    @precondition(lambda self: bool(self.jobs()))
    @rule(pick=PICK)
    def deliver(self, pick: int) -> None:
        job = self.choose(self.jobs(), pick)
        self._work(job, None)

    @precondition(lambda self: bool(self.jobs()))
    @rule()
    def deliver_everything(self) -> None:
        for job in self.jobs():
            self._work(job, None)
            self.everything_holds()

    @precondition(lambda self: bool(self.jobs()))
    @rule(pick=PICK, dies_at=st.sampled_from(DEATHS))
    def deliver_to_one_who_dies(self, pick: int, dies_at: str) -> None:
        self._work(self.choose(self.jobs(), pick), dies_at)

    @precondition(lambda self: bool(self.sight.jobs))
    @rule(pick=PICK)
    def deliver_again(self, pick: int) -> None:
        """An old message, in triplicate."""
        job = self.choose(self.sight.jobs, pick)
        for _ in range(3):
            self._work(job, None)

    def _work(self, job: Any, dies_at: str | None) -> None:
        self._until_due(job)
        with self.step("work"):
            self.tell(f"{job.kind}: {work_until(job.id, dies_at)}")

    def _until_due(self, job: Any) -> None:
        """Time goes by until the job may be worked on; also past another's claim."""
        if job.due_at is not None and job.due_at > self.sight.now:
            left = (job.due_at - self.sight.now).total_seconds()
            self.pass_by(int(left) + 1)

    @precondition(lambda self: bool(self.jobs()) and len(self.held) < MOST_HELD)
    @rule(pick=PICK, held_at=st.sampled_from(HOLDS))
    def hold_a_worker(self, pick: int, held_at: str) -> None:
        job = self.choose(self.jobs(), pick)
        self._until_due(job)
        with self.step(f"hold at {held_at}"):
            worker = Held(job.id, held_at)
            if worker.at is not None:
                self.held.append(worker)
            elif worker.error is not None:
                raise worker.error

    @precondition(lambda self: bool(self.held))
    @rule(pick=PICK, dies=st.sampled_from([False, False, True]))
    def let_a_worker_go_on(self, pick: int, dies: bool) -> None:
        worker = self.held.pop(pick % len(self.held))
        with self.step("go on"):
            at = worker.at
            outcome = worker.go_on(dies_at=at if dies else None)
            self.tell(f"held at {at}: {outcome}")

    @rule()
    def sweep(self) -> None:
        with self.step("sweep"):
            sweep()

    @rule(seconds=st.sampled_from(SPANS))
    def time_passes(self, seconds: int) -> None:
        with self.step(f"{seconds} s"):
            self.pass_by(seconds)

    @rule(
        name=st.sampled_from(["pay", "pay", "book", "post"]),
        behaviour=st.sampled_from(BEHAVIOURS),
        tells=st.booleans(),
        lands=st.booleans(),
    )
    def a_tool_behaves(
        self, name: str, behaviour: str, tells: bool, lands: bool
    ) -> None:
        """Otherwise than before; and what was under way to it may arrive."""
        system = self.world.systems[name]
        system.behaviour, system.tells = behaviour, tells
        if lands:
            system.land()
        self.tell(f"a tool will {behaviour}")
