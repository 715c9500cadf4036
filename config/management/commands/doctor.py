import json
from dataclasses import asdict
from typing import Any, Final, TextIO, cast

from django.core.management.base import BaseCommand, CommandParser
from rich.console import Console
from rich.table import Table
from rich.text import Text

from config.doctor import Finding, State, examine

_MARKS: Final = {
    State.OK: ("✓ ok", "green"),
    State.WARNING: ("! warning", "yellow"),
    State.FAILED: ("✗ failed", "bold red"),
}


class Command(BaseCommand):
    help = "Look at everything an installation needs. Exits 1 if anything failed."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="one JSON array")

    def handle(self, *args: Any, json: bool, **options: Any) -> None:
        findings = list(examine())
        if json:
            self.stdout.write(_as_json(findings))
        else:
            Console(file=cast("TextIO", self.stdout)).print(_as_table(findings))
        if any(finding.state is State.FAILED for finding in findings):
            raise SystemExit(1)


def _as_json(findings: list[Finding]) -> str:
    return json.dumps([asdict(finding) for finding in findings], indent=2)


def _as_table(findings: list[Finding]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for heading in ("what", "state", "detail"):
        table.add_column(heading)
    for finding in findings:
        word, style = _MARKS[finding.state]
        # Text, since a detail may hold brackets that rich would read as markup.
        table.add_row(finding.name, Text(word, style), Text(finding.detail))
    return table
