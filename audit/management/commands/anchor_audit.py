"""`manage.py anchor_audit`: write down how far every chain has come.

Run it at intervals, and copy the file off the machine.
"""

from typing import Any

from django.core.management.base import BaseCommand

from audit.anchors import anchor, anchors_file


class Command(BaseCommand):
    help = "Append the heads of all audit chains to anchors.ndjson in the data folder."

    def handle(self, **_: Any) -> None:
        count = anchor()
        self.stdout.write(f"{count} heads anchored in {anchors_file()}")
