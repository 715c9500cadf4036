"""Codes are an interface: each is documented, with its class or status, and no other."""

import re
import subprocess
import sys
from pathlib import Path

from tests.docs.refusals_in_code import refusals

ROOT = Path(__file__).resolve().parents[2]
ROW = re.compile(r"^\| `([a-z_]+\.[a-z_]+)` \| (wait|reopen|stop) \|", re.MULTILINE)


def test_every_refusal_is_in_the_architecture_with_its_class() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    assert dict(ROW.findall(page)) == refusals()


def test_the_source_is_understood() -> None:
    """One of each way in which a refusal is made."""
    assert (
        refusals().items()
        >= {
            "identity.mismatch": "stop",
            "position.head_moved": "stop",
            "effects.in_flight": "wait",
            "effects.settling": "wait",
            "authority.grant_revoked": "stop",
            "authority.precondition_stale": "reopen",
            "authority.decision_not_in_audit": "stop",
        }.items()
    )


def test_every_problem_code_is_listed_with_status_and_title() -> None:
    command = [sys.executable, "-m", "tests.docs.problem_table"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert printed.returncode == 0, printed.stderr
    page = (ROOT / "docs" / "errors.md").read_text()
    listed = [
        line for line in page.splitlines() if re.match(r"\| `[a-z_.]+` \| \d", line)
    ]
    assert listed == printed.stdout.splitlines(), (
        "replace the table in docs/errors.md by what"
        " `python -m tests.docs.problem_table` prints"
    )
