"""The demo's database: started, whole or begun anew, migrated, and stopped again."""

from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.db import connections
from django.db.migrations.executor import MigrationExecutor

from config import embedded, env
from config.demo.place import Place
from config.demo.record import read_record
from config.demo.steps import Steps, Tell
from config.embedded import postgres
from config.embedded.passwords import write_private
from config.management.commands.migrate import Command as Migrate


def is_ours() -> bool:
    """Whether it is the embedded one, which nobody else has put anything into."""
    return not env.text("DATABASE_URL")


def expected_steps() -> int:
    """How many `prepare` takes."""
    return 2 if is_ours() else 1


def prepare(place: Place, steps: Steps) -> None:
    """Start it and bring it to the newest migration."""
    if is_ours():
        with steps.step("Starting PostgreSQL", "PostgreSQL runs"):
            embedded.ensure(place.data_dir)
        _forget_half_a_seed(place, steps)
    with steps.step("Creating tables, rules and roles", "Tables are there") as tell:
        _migrate(tell)
    connections["owner"].close()


def stop(place: Place, steps: Steps) -> None:
    """Let go of it; the embedded one is stopped."""
    connections.close_all()
    connections["default"].close_pool()  # type: ignore[attr-defined]  # PostgreSQL's
    if is_ours():
        embedded.stop(place.data_dir)
        steps.say("Everything has stopped, PostgreSQL too")


def begin_seed(place: Place) -> None:
    """Remember that what is in the empty database from now on is ours."""
    write_private(_mark(place), "The demo was filling this database.\n")


def end_seed(place: Place) -> None:
    """It is whole."""
    _mark(place).unlink()


def _forget_half_a_seed(place: Place, steps: Steps) -> None:
    if _mark(place).exists() and read_record(place.data_dir) is None:
        postgres.drop_database(place.data_dir, "keyturn")
        postgres.create_database(place.data_dir, "keyturn")
        steps.say("Began anew: the last demo was killed while it filled the database")


def _migrate(tell: Tell) -> None:
    executor = MigrationExecutor(connections["owner"])
    if plan := executor.migration_plan(executor.loader.graph.leaf_nodes()):
        call_command(_Told(tell, len(plan)), verbosity=0)


class _Told(Migrate):
    """Says after each migration how many were applied."""

    def __init__(self, tell: Tell, total: int) -> None:
        super().__init__()
        self._tell, self._applied, self._total = tell, 0, total

    def migration_progress_callback(
        self, action: str, migration: Any = None, fake: bool = False
    ) -> None:
        if action == "apply_success":
            self._applied += 1
            self._tell(f"{self._applied} of {self._total} migrations")


def _mark(place: Place) -> Path:
    return place.folder / "unfinished"
