from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from config import embedded


class Command(BaseCommand):
    help = "Start, stop or look at the embedded services."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", choices=["start", "stop", "status"])

    def handle(self, *args: Any, action: str, **options: Any) -> None:
        if not settings.EMBEDDED:
            raise CommandError("DATABASE_URL is set: its server is not ours to manage")
        if action == "start":
            embedded.ensure(settings.DATA_DIR)
        elif action == "stop":
            embedded.stop(settings.DATA_DIR)
        for name, state in embedded.status(settings.DATA_DIR).items():
            self.stdout.write(f"{name}: {state}")
