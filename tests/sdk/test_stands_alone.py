"""The package brings httpx and nothing of the server."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import keyturn
from keyturn import cli

FORBIDDEN = {"django", "kernel", "sessions", "approvals", "config", "mcp"}


def test_it_loads_neither_django_nor_a_room_of_the_server(tmp_path: object) -> None:
    script = (
        "import sys, keyturn, keyturn.testing, keyturn.webhooks, keyturn.cli;"
        "print(*sorted({name.split('.')[0] for name in sys.modules}))"
    )
    loaded = subprocess.check_output(
        [sys.executable, "-c", script], cwd=str(tmp_path), text=True
    ).split()
    assert "keyturn" in loaded
    assert not set(loaded) & FORBIDDEN


def test_no_generic_is_given_its_type_where_it_is_called() -> None:
    """`Action[None](…)` of a frozen class with slots fails before Python 3.13."""
    for file in Path(keyturn.__file__).parent.rglob("*.py"):
        calls = (
            n for n in ast.walk(ast.parse(file.read_text())) if isinstance(n, ast.Call)
        )
        assert not [c for c in calls if isinstance(c.func, ast.Subscript)], file


def test_a_fault_of_its_own_does_not_read_as_a_rejection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cli, "ask", lambda *_: 1 / 0)
    monkeypatch.setenv("KEYTURN_API_KEY", "kt_test_x")
    monkeypatch.setenv("KEYTURN_URL", "http://127.0.0.1:9")
    assert cli.main(["ask", "--tool", "deploy"]) == cli.BROKEN
