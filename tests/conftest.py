"""The house the tests run in: an embedded installation of their own.

Each process of a test run has its own data folder, and with it its own PostgreSQL,
broker and keys; what a test starts as a subprocess finds them by itself. Tests connect
as the app role, outside any enclosing transaction, and nothing is flushed: whoever
needs a clean place makes a fresh tenant.
"""

import fcntl
import gc
import os
import signal
from collections.abc import Generator, Iterator
from itertools import count
from pathlib import Path
from typing import IO

import django
import pytest
from django.conf import settings
from hypothesis import HealthCheck
from hypothesis import settings as examples
from pytest_django import DjangoDbBlocker

from config import embedded
from tests.database import disconnect, fresh_database

BASE_DIR = Path(__file__).resolve().parent.parent
TEST_DATA_DIR = pytest.StashKey[tuple[Path, IO[str]]]()

# A slow machine is no fault of the code; under CI Hypothesis settles it by itself.
if examples.get_current_profile_name() == "default":
    examples.register_profile(
        "patient", deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
    examples.load_profile("patient")


def pytest_configure(config: pytest.Config) -> None:
    """Settle in a data folder, and only then let Django read its settings."""
    if config.getoption("numprocesses", None):
        return  # xdist's own workers do; their parent runs no test
    if settings.configured:
        raise pytest.UsageError("unset DJANGO_SETTINGS_MODULE: it is set here")
    data_dir, lock = _reserve_data_dir()
    config.stash[TEST_DATA_DIR] = data_dir, lock
    for name in list(os.environ):
        if name.startswith(("DATABASE_", "CELERY_", "DJANGO_", "KEYTURN_")):
            del os.environ[name]
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    os.environ["KEYTURN_DATA_DIR"] = str(embedded.prepare(data_dir))
    gc.disable()
    django.setup()
    settings.PASSWORD_HASHERS = ["tests.passwords.FewRounds"]


def pytest_collection_finish() -> None:
    """What is loaded by now stays: the collector need not look through it again."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """What a running installation said goes with the report of a test that failed."""
    report = yield
    running = getattr(item, "funcargs", {}).get("installation")
    if report.failed and running is not None:
        report.sections.append(("installation", running.log.tail()))
    return report


def _reserve_data_dir() -> tuple[Path, IO[str]]:
    """Take a folder that no other running test process has; the lock ends with us."""
    base = Path(os.environ.get("KEYTURN_TEST_DATA_DIR") or BASE_DIR / "var" / "test")
    base.mkdir(parents=True, exist_ok=True)
    worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
    for number in count(1):
        name = worker if number == 1 else f"{worker}-{number}"
        lock = (base / f"{name}.lock").open("w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
        else:
            return base / name, lock
    raise AssertionError("count() does not end")


@pytest.fixture(scope="session", autouse=True)
def django_db_setup(
    django_test_environment: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[None]:
    """Start PostgreSQL, make a fresh database and leave it open for the whole run."""
    services = embedded.ensure(settings.DATA_DIR, durable=False)
    with django_db_blocker.unblock():
        fresh_database(services.data_dir)
        yield
        disconnect()
    if services.started:
        embedded.stop(services.data_dir)


STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture
def stoppable() -> Iterator[None]:
    """What a test starts is stopped by these, whoever started the tests.

    A shell has what it runs in the background ignore Ctrl-C, `nohup` the end of its
    terminal; what is ignored or blocked here is so in all programs that we start.
    """
    before = {one: signal.getsignal(one) for one in STOPS}
    blocked = signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)
    for one in STOPS:
        if before[one] == signal.SIG_IGN:
            interrupt = one == signal.SIGINT
            signal.signal(
                one, signal.default_int_handler if interrupt else signal.SIG_DFL
            )
    yield
    for one, former in before.items():
        signal.signal(one, former)
    signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
