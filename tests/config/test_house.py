"""The tests' own house: what every other test relies on."""

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
    )
    with connection.cursor() as cursor:
        cursor.execute(
            "select " + ", ".join(f"current_setting('{name}')" for name in names)
        )
        assert cursor.fetchone() == ("2s", "5s", "10s", "read committed", "UTC")
