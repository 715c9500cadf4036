import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from django.core.management.base import BaseCommand, CommandError, CommandParser
from rich.console import Console

from config.demo.held import held
from config.demo.installation import running
from config.demo.place import CannotStart, Place, add_options, settled
from config.demo.processes import AlreadyRuns, is_alive
from config.demo.record import read_record
from config.demo.steps import Steps
from config.demo.story import STEPS, BrokeOff, Story
from config.demo.summary import show_summary
from config.demo.waiting import TooLate
from config.embedded.supervisor import Supervisor


class Command(BaseCommand):
    help = "Run everything on this machine, with people and work in it."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        add_options(parser)

    def handle(
        self, *args: Any, once: bool, json: bool, no_seed: bool, **options: Any
    ) -> None:
        place, console = settled(), Console(stderr=True, quiet=json)
        _listen()
        try:
            if once:
                self.play(place, console)
            else:
                self.serve(place, console, with_seed=not no_seed)
        except (CannotStart, AlreadyRuns, TooLate, RuntimeError, OSError) as error:
            raise CommandError(str(error)) from error
        except KeyboardInterrupt:
            return

    def serve(self, place: Place, console: Console, *, with_seed: bool) -> None:
        """Run until Ctrl-C."""
        steps = Steps(console)
        with (
            _log(place, "demo") as log,
            held(sys.stderr) as lines,
            running(place, steps, lines, log=log, with_seed=with_seed) as installation,
        ):
            show_summary(console, place, installation.record)
            lines.release()
            installation.processes.wait()

    def play(self, place: Place, console: Console) -> None:
        """Tell the story; its last line is JSON. Exits 1 unless all of it is good."""
        steps = Steps(console)
        steps.expect(STEPS)
        with _log(place, "story") as log, _story(place, steps, log) as story:
            try:
                story.tell()
            except BrokeOff as error:
                self.stderr.write(f"The story broke off: {error} (see {log.name})")
        self.stdout.write(story.told.line())
        if not story.told.is_good:
            sys.exit(1)


def _listen() -> None:
    """Let each way of being told to end take us through every `finally`.

    A shell that starts us in the background has had our Ctrl-C ignored; whoever sends
    the signal then still means it.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for which in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(which, _leave)


def _leave(which: int, _: object) -> None:
    raise SystemExit(128 + which)


@contextmanager
def _story(place: Place, steps: Steps, log: TextIO) -> Iterator[Story]:
    """On the demo that runs there, or on one that is started for it."""
    record = read_record(place.data_dir)
    if record is not None and is_alive(place.folder):
        with Supervisor(output=log) as processes:
            yield Story(record=record, steps=steps, processes=processes)
        return
    with running(place, steps, log) as installation:
        assert installation.record is not None
        yield Story(
            record=installation.record, steps=steps, processes=installation.processes
        )


def _log(place: Place, name: str) -> TextIO:
    """Where the processes' lines go while somebody watches."""
    folder = place.data_dir / "logs"
    folder.mkdir(mode=0o700, exist_ok=True)
    return (folder / f"{name}.log").open("a")
