"""The invoice agent: it checks invoices and asks people before it acts.

    KEYTURN_API_KEY=kt_… python -m examples.invoice.agent \\
        --url http://127.0.0.1:8000 --correction-url http://127.0.0.1:9000 \\
        --documents FOLDER --invoice INV-1042 --once

It speaks to Keyturn with the SDK's operations, and may be killed at any moment: it
finds its run by the task's name, goes on from the last checkpoint, and repeats no
effect. Each invoice is worked on in a thread of its own, so that one that waits for
people holds up no other.

Exit codes of --once: 0 every invoice has an outcome, 1 one could not be worked on.
"""

import argparse
import json
import logging
import os
import re
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue

import httpx

from examples.invoice.documents import DocumentFolder
from examples.invoice.external_call import CorrectionSystem
from examples.invoice.log_lines import log_to_stderr
from examples.invoice.progress import CheckpointUnreadable, Progress, Step
from examples.invoice.review import Review
from examples.invoice.safe_xml import DocumentRefused
from examples.invoice.steps import STEPS, Desk, Json
from examples.invoice.task import ENDED, AnotherWriter, Task
from keyturn import Client, KeyturnError

log = logging.getLogger("agent")

LOOK_AGAIN = 2.0  # seconds between two looks into the folder
TRY_AGAIN = 20.0  # seconds until an invoice is taken up again that stopped in between
_STOPPED = (
    AnotherWriter,
    CheckpointUnreadable,
    KeyturnError,
    httpx.HTTPError,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """What all invoices share. `subject` is the person on whose behalf it works."""

    api: Client
    corrections: CorrectionSystem
    folder: DocumentFolder
    subject: str

    def work_on(self, invoice_id: str, task_name: str = "") -> Json:
        """Bring one invoice to its end, from wherever it stands; a line to print."""
        task = Task.open(
            self.api,
            task_name or name_of_task(invoice_id),
            subject=self.subject,
            title=f"Check invoice {invoice_id}",
        )
        desk = self._desk(task, invoice_id)
        if task.run().state not in ENDED:
            self._go_on(desk, task.pick_up(invoice_id))
        run = task.run()
        desk.tell(f"run {run.state}")
        line = {"invoice": invoice_id, "run": run.id, "state": run.state}
        told = {name: run.facts.get(name) for name in ("outcome", "external_id")}
        return line | {name: fact.value for name, fact in told.items() if fact}

    def _go_on(self, desk: Desk, progress: Progress) -> None:
        desk.tell(f"{desk.task.name}: next is {progress.step}")
        try:
            while progress.step is not Step.FINISH:
                progress = self._advance(desk, progress)
            STEPS[Step.FINISH](desk, progress)
        except DocumentRefused as refused:
            desk.tell(f"refused: {refused}")
            desk.task.fail(str(refused))

    def _advance(self, desk: Desk, progress: Progress) -> Progress:
        further = STEPS[progress.step](desk, progress)
        # A pause wrote its own checkpoint, together with what it asks.
        if further.step is not Step.ACT:
            desk.task.save(further)
        return further

    def _desk(self, task: Task, invoice_id: str) -> Desk:
        def tell(text: str) -> None:
            log.info("%s  %s", invoice_id, text)

        review = Review(task, self.corrections, tell)
        return Desk(self.folder, task, review)


def name_of_task(invoice_id: str) -> str:
    """The task list's own name for checking an invoice: TASK-1842 for INV-1042."""
    number = re.fullmatch(r"INV-([0-9]{1,9})", invoice_id)
    return f"TASK-{int(number[1]) + 800}" if number else f"TASK-{invoice_id}"


@dataclass(slots=True, kw_only=True)
class Shift:
    """The agent at work on several invoices, for once or until it is stopped.

    Its threads are daemons: leaving at any moment is safe, so nothing is waited for.
    """

    agent: Agent
    wanted: list[str]
    task_name: str
    once: bool
    ended: SimpleQueue[Json] = field(default_factory=SimpleQueue)
    started: set[str] = field(default_factory=set)

    def work(self) -> int:
        """Print a JSON line for each invoice that ended; returns the exit code."""
        lines: list[Json] = []
        self._take_up()
        while not self.once or len(lines) < len(self.started):
            self._take_up()
            try:
                lines.append(self.ended.get(timeout=LOOK_AGAIN))
            except Empty:
                continue
            print(json.dumps(lines[-1]), flush=True)  # noqa: T201 - the result
        return 0 if all("state" in line for line in lines) else 1

    def _take_up(self) -> None:
        found = self.wanted or self.agent.folder.invoice_ids()
        for invoice_id in sorted(set(found) - self.started):
            self.started.add(invoice_id)
            arguments = (invoice_id,)
            threading.Thread(
                target=self._bring_to_end, args=arguments, daemon=True
            ).start()

    def _bring_to_end(self, invoice_id: str) -> None:
        while "state" not in (line := self._attempt(invoice_id)) and not self.once:
            time.sleep(TRY_AGAIN)
        self.ended.put(line)

    def _attempt(self, invoice_id: str) -> Json:
        try:
            return self.agent.work_on(invoice_id, self.task_name)
        except _STOPPED as stopped:
            log.error("%s  stopped: %r", invoice_id, stopped)
            return {"invoice": invoice_id, "stopped": str(stopped)}
        except Exception as defect:  # a thread that dies says nothing to the others
            log.exception("%s  stopped", invoice_id)
            return {"invoice": invoice_id, "stopped": repr(defect)}


def main() -> int:
    options = _options()
    log_to_stderr()
    agent = Agent(
        api=Client(options.url, _key(options), patience=options.patience),
        corrections=CorrectionSystem.connect(options.correction_url),
        folder=DocumentFolder(options.documents),
        subject=options.subject,
    )
    shift = Shift(
        agent=agent,
        wanted=options.invoice,
        task_name=options.task,
        once=options.once,
    )
    try:
        return shift.work()
    except KeyboardInterrupt:
        return 130


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="examples.invoice.agent")
    parser.add_argument("--url", required=True, help="where Keyturn is")
    parser.add_argument("--key-file", type=Path, help="else $KEYTURN_API_KEY")
    parser.add_argument("--correction-url", required=True)
    parser.add_argument("--documents", type=Path, required=True)
    parser.add_argument(
        "--invoice", action="append", default=[], help="repeatable; default: all"
    )
    parser.add_argument("--task", default="", help="another name than the task list's")
    parser.add_argument("--subject", default="ingrid.moe@fjordline.example")
    parser.add_argument("--patience", type=float, default=900.0, help="seconds")
    parser.add_argument("--once", action="store_true", help="end with the invoices")
    return parser.parse_args()


def _key(options: argparse.Namespace) -> str:
    # Never an argument: other users of the machine can read those.
    if options.key_file:
        return str(options.key_file.read_text()).strip()
    return os.environ["KEYTURN_API_KEY"]


if __name__ == "__main__":
    sys.exit(main())
