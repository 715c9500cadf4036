"""`manage.py drill`: exercise incidents on purpose, with a verdict for each."""

import json
import logging
import sys
import time
from argparse import SUPPRESS
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, cast

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from audit.queries import find_tenant
from config.drill.holding import hold_here, hold_in_own, hold_inside, is_running
from oversight.drills.incident import Incident, Verdict
from oversight.drills.incidents import INCIDENTS
from oversight.drills.report import Report, keep
from oversight.services.drills import record_drill
from tenants.checks import Operator

MARKS: Final = {
    "passed": ("✓ passed", "green"),
    "failed": ("✗ failed", "bold red"),
    "skipped": ("- skipped", "yellow"),
}


class Command(BaseCommand):
    help = (
        "Exercise incidents, with a verdict for each; exits 1 if any failed. What harms"
        " nobody is held in throw-away tenants of the installation that is running;"
        " everything else in an embedded one that is started for it."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--only", action="append", metavar="ID", help="this one; may be repeated"
        )
        parser.add_argument("--repeat", type=int, default=1, metavar="N")
        parser.add_argument("--json", action="store_true", help="one document")
        parser.add_argument(
            "--data-dir",
            type=Path,
            help="hold everything in an embedded installation in this folder",
        )
        parser.add_argument(
            "--tenant", help="a tenant of this installation whose audit log records it"
        )
        parser.add_argument("--list", action="store_true", help="the ids, and no more")
        parser.add_argument("--inside", action="store_true", help=SUPPRESS)

    def handle(self, *args: Any, **options: Any) -> None:
        # Each look at a tool would be a line.
        logging.getLogger("httpx").setLevel(logging.WARNING)
        incidents = _chosen(options["only"]) * max(1, options["repeat"])
        if options["list"]:
            self.stdout.write(
                "\n".join(f"{each.id}: {each.promise}" for each in incidents)
            )
        elif options["inside"]:
            hold_inside(incidents, sys.stdout)
        else:
            self.hold(incidents, **options)

    def hold(self, incidents: list[Incident], **options: Any) -> None:
        """Hold them, show and keep the report. Exits 1 if anything failed."""
        at, began = datetime.now(UTC), time.monotonic()
        held = _held(incidents, options["data_dir"])
        report = Report(
            at=at.isoformat(timespec="seconds"),
            installation=settings.BASE_URL,
            verdicts=tuple(_with_progress(held, len(incidents))),
            seconds=time.monotonic() - began,
        )
        digest = keep(report)
        if options["tenant"]:
            _record(options["tenant"], report, digest)
        if options["json"]:
            self.stdout.write(json.dumps(report.as_json(), indent=2))
        else:
            console = Console(file=cast("Any", self.stdout))
            console.print(_table(report))
            console.print(_summary(report))
        if not report.passed:
            raise SystemExit(1)


def _chosen(ids: list[str] | None) -> list[Incident]:
    unknown = sorted(set(ids or ()) - INCIDENTS.keys())
    if unknown:
        known = ", ".join(INCIDENTS)
        raise CommandError(f"There is no {unknown[0]!r}. There are: {known}.")
    return [each for id, each in INCIDENTS.items() if not ids or id in ids]


def _held(incidents: list[Incident], data_dir: Path | None) -> Iterator[Verdict]:
    here = [] if data_dir or not is_running() else [i for i in incidents if not i.harms]
    own = [each for each in incidents if each not in here]
    yield from hold_here(here)
    if own:
        folder = data_dir or Path(settings.DATA_DIR) / "drill"
        yield from hold_in_own(own, folder.absolute())


def _with_progress(verdicts: Iterable[Verdict], total: int) -> Iterator[Verdict]:
    console = Console(stderr=True)
    columns = BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}")
    hidden = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=hidden) as bar:
        task = bar.add_task("starting", total=total)
        for verdict in verdicts:
            bar.update(task, advance=1, description=f"{verdict.id}: {verdict.word}")
            yield verdict


def _record(tenant: str, report: Report, digest: str) -> None:
    said = report.as_json()
    data = {key: said[key] for key in ("at", "passed", "verdicts", "counts")}
    try:
        tenant_id = find_tenant(tenant)
    except LookupError as error:
        raise CommandError(str(error)) from error
    record_drill(
        tenant_id,
        by=Operator.CONSOLE,
        kind="reported",
        data={**data, "sha256": digest},
    )


def _table(report: Report) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for heading in ("incident", "verdict", "seconds", "place", "evidence"):
        table.add_column(heading, justify="right" if heading == "seconds" else "left")
    for verdict in report.verdicts:
        word, style = MARKS[verdict.word]
        table.add_row(
            verdict.id,
            Text(word, style),
            f"{verdict.seconds:.1f}",
            verdict.place,
            # Text, since it may hold brackets that rich would read as markup.
            Text(verdict.reason or _evidence(verdict)),
        )
    return table


def _evidence(verdict: Verdict) -> str:
    """The first of it; the rest is in the JSON and on the page."""
    if not verdict.evidence:
        return ""
    first = verdict.evidence[0]
    return first.href or f"{first.label}: {first.text}"


def _summary(report: Report) -> str:
    counts = report.counts
    return (
        f"{report.how_many('passed')} passed, {report.how_many('failed')} failed,"
        f" {report.how_many('skipped')} skipped in {report.seconds:.0f} s."
        f" {counts.kills} kills, {counts.effects} effects: {counts.duplicates}"
        f" duplicates, {counts.lost} lost, {counts.stuck} stuck."
    )
