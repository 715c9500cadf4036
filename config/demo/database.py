"""The demo's database: started, whole or begun anew, migrated, and stopped again."""

from pathlib import Path

from django.core.management import call_command
from django.db import connections
from django.db.migrations.executor import MigrationExecutor

from config import embedded, env
from config.demo.place import Place
from config.demo.record import read_record
from config.demo.steps import Steps
from config.embedded import postgres
from config.embedded.passwords import write_private


def is_ours() -> bool:
    """Whether it is the embedded one, which nobody else has put anything into."""
    return not env.text("DATABASE_URL")


def prepare(place: Place, steps: Steps) -> None:
    """Start it and bring it to the newest migration."""
    if is_ours():
        with steps.step("Starting PostgreSQL", "PostgreSQL runs"):
            embedded.ensure(place.data_dir)
        _forget_half_a_seed(place, steps)
    if _is_behind():
        with steps.step("Creating tables, rules and roles", "Tables are there"):
            call_command("migrate", verbosity=0)
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


def _is_behind() -> bool:
    executor = MigrationExecutor(connections["owner"])
    return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))


def _mark(place: Place) -> Path:
    return place.folder / "unfinished"
