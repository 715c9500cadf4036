"""The tests' own house: what every other test relies on."""

import os
import subprocess
import sys

from django.db import connection, connections, transaction


def _role(alias: str) -> str:
    with connections[alias].cursor() as cursor:
        cursor.execute("select current_user")
        (role,) = cursor.fetchone()
    return str(role)


def test_each_connection_is_its_own_role() -> None:
    assert [_role(alias) for alias in ("default", "owner", "relay")] == [
        "keyturn_app",
        "keyturn_owner",
        "keyturn_relay",
    ]


def test_no_test_runs_inside_an_enclosing_transaction() -> None:
    assert not connection.in_atomic_block
    seen: list[str] = []
    with transaction.atomic():
        transaction.on_commit(lambda: seen.append("committed"))
    assert seen == ["committed"]


def test_sessions_give_up_rather_than_wait() -> None:
    names = (
        "lock_timeout",
        "idle_in_transaction_session_timeout",
        "transaction_timeout",
        "transaction_isolation",
        "TimeZone",
        "join_collapse_limit",  # planning is dearer than any order of joins is bad
    )
    with connection.cursor() as cursor:
        cursor.execute(
            "select " + ", ".join(f"current_setting('{name}')" for name in names)
        )
        assert cursor.fetchone() == ("2s", "5s", "10s", "read committed", "UTC", "4")


def test_starting_services_loads_no_settings() -> None:
    """They hold passwords that are made while the services start."""
    script = (
        "import os; from config import embedded; from django.conf import settings;"
        "print(settings.configured, os.environ.get('DJANGO_SETTINGS_MODULE'))"
    )
    environment = os.environ.copy()
    del environment["DJANGO_SETTINGS_MODULE"]
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["False", "None"]
