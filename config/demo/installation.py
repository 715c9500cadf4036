"""From an empty folder to a running installation with a queue, and back to nothing.

Whatever was killed half-way is made good first: processes that were left, and a
database that was only half filled.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final, TextIO
from urllib.parse import urlsplit

from config.demo import database, programs
from config.demo.agent_api import AgentApi
from config.demo.place import CannotStart, Place, probe
from config.demo.processes import Roll, alone
from config.demo.record import Record, read_record, write_record
from config.demo.seed.cast import FJORDLINE, INVOICE_AGENT
from config.demo.seed.seeding import decide_some, seed
from config.demo.steps import Steps
from config.demo.waiting import TooLate, wait_for, wait_until_up
from config.embedded.prefixed import Output
from config.embedded.supervisor import Supervisor
from tenants.access import any_tenant

INVOICES: Final = ("INV-1042", "INV-1044")  # one for each mode of a tool
WATCHED: Final = frozenset({"agent", "company"})
_TO_ASK: Final = 20.0  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """The processes, and what is in the database; no record without a seed."""

    place: Place
    processes: Supervisor
    record: Record | None


@contextmanager
def running(
    place: Place,
    steps: Steps,
    output: Output,
    *,
    log: TextIO | None = None,
    with_seed: bool = True,
) -> Iterator[Running]:
    """Start everything that is missing; afterwards stop all of it, and PostgreSQL.

    With a `log`, `output` only has the lines of those whose work is worth watching.
    """
    with alone(place.folder):
        steps.expect(_to_come(place, with_seed=with_seed))
        roll = Roll(place.folder)
        if left := roll.end_leftovers():
            steps.say(f"Ended what a killed demo had left: {', '.join(left)}")
        try:
            database.prepare(place, steps)
            with Supervisor(
                output=output, log=log, shown=WATCHED, started=roll.note
            ) as processes:
                installed = _Installing(place, steps, processes)
                record = installed.with_work() if with_seed else installed.empty()
                yield Running(place=place, processes=processes, record=record)
        finally:
            database.stop(place, steps)


def _to_come(place: Place, *, with_seed: bool) -> int:
    """Steps: the database's, two that fill it, and one that starts the programs."""
    fills = with_seed and read_record(place.data_dir) is None
    return database.expected_steps() + (2 if fills else 0) + 1


@dataclass(frozen=True, slots=True)
class _Installing:
    place: Place
    steps: Steps
    processes: Supervisor

    def empty(self) -> Record | None:
        """The three programs of an installation, and nothing in it."""
        self.processes.start(programs.web(self.place.port))
        with self.steps.step("Starting the server", "The server answers"):
            self._wait_for_web()
        self._start_workers()
        return None

    def with_work(self) -> Record:
        """Companies, people and requests as well, and an agent that is at work."""
        record = self._known()
        if record is None and any_tenant():
            raise CannotStart(
                f"{self.place.data_dir} holds tenants that are not the demo's. Choose"
                " another folder with --data-dir, or --no-seed to run what is there."
            )
        company_url = record.correction_url if record else self._new_company_url()
        self.processes.start(programs.web(self.place.port))
        self._start_company(company_url)
        record = record or self._fill(company_url)
        with self.steps.step("Starting server and agent", "Server and agent run"):
            self._wait_for_web()
            self._start_agent(record)
            self._start_workers()
            self._wait_for_agent(record)
        return record

    def _known(self) -> Record | None:
        """What an earlier demo wrote of this folder, at today's address."""
        record = read_record(self.place.data_dir)
        if record is not None and record.url != self.place.url:
            record = record.moved(url=self.place.url)
            write_record(self.place.data_dir, record)
        return record

    def _start_workers(self) -> None:
        """Last, since loading them takes what the server needs in order to answer."""
        for one in (programs.worker(), programs.beat()):
            self.processes.start(one)

    def _start_company(self, url: str) -> None:
        port = urlsplit(url).port or 0
        try:
            probe(port)
        except OSError as error:
            raise CannotStart(
                f"Port {port} is taken, and the tools of this demo are registered"
                " there. Free it, or begin anew with another --data-dir."
            ) from error
        self.processes.start(programs.company(port, self.place.folder / "company"))
        wait_until_up(f"{url}/healthz")

    def _new_company_url(self) -> str:
        """The port after ours, if it is free: it is easier to remember."""
        try:
            port = probe(self.place.port + 1)
        except OSError:
            port = probe(0)
        return f"http://127.0.0.1:{port}"

    def _fill(self, company_url: str) -> Record:
        database.begin_seed(self.place)
        with self.steps.step(
            "Inviting people, writing policies, letting agents ask",
            "People, policies, agents and requests are there",
        ):
            made = seed(company_url)
        record = Record(
            url=self.place.url, correction_url=company_url, tenants=made.tenants
        )
        with self.steps.step("Letting two people answer", "Two people have answered"):
            self._wait_for_web()
            decide_some(record, made)
        write_record(self.place.data_dir, record)
        database.end_seed(self.place)
        return record

    def _wait_for_web(self) -> None:
        wait_until_up(f"{self.place.url}/health/ready")

    def _start_agent(self, record: Record) -> None:
        self.processes.start(
            programs.invoice_agent(
                record.url, record.correction_url, _key(record), invoices=INVOICES
            )
        )

    def _wait_for_agent(self, record: Record) -> None:
        """Give it time to ask, so that its question is there to be found."""
        api = AgentApi(record.url, _key(record))
        with suppress(TooLate):
            wait_for(lambda: _has_asked(api), seconds=_TO_ASK, what="the agent asks")


def _key(record: Record) -> str:
    return record.tenant(FJORDLINE.slug).api_keys[INVOICE_AGENT]


def _has_asked(api: AgentApi) -> bool | None:
    """Whether no run of its is on the way to a question any more."""
    tasks = [run for run in api.list("runs") if run["external_id"]]
    stopped = [run for run in tasks if run["state"] != "running"]
    return True if len(stopped) == len(tasks) >= len(INVOICES) else None
