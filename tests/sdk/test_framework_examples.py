"""Each example as a program: it pauses, a person edits, another process goes on."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.examples.waiting import wait_until
from tests.sdk.worlds import Real

ROOT = Path(__file__).parents[2]
EXAMPLES = [
    "claude_agent",
    "provider_loop",
    "langgraph_agent",
    "langchain_agent",
    "openai_agent",
    "pydantic_agent",
]


DIE_ELSEWHERE = {
    "langchain_agent",
    "provider_loop",
}  # in tests of their own, and faster

# The payment is made, and the process is gone before anything can be said of it.
DIES = """
import os, runpy, sys
from examples.frameworks.payments import Bank
pay = Bank.pay
Bank.pay = lambda *args, **given: (pay(*args, **given), os._exit(9))
sys.argv = sys.argv[1:]
runpy.run_module(sys.argv[0], run_name="__main__")
"""


def start(
    name: str, real: Real, ledger: Path, *, dies: bool = False
) -> subprocess.CompletedProcess[str]:
    told = {"KEYTURN_URL": real.url, "KEYTURN_API_KEY": real.house.robot.text}
    program = ["-c", DIES] if dies else ["-m"]
    return subprocess.run(
        [
            sys.executable,
            *program,
            f"examples.frameworks.{name}",
            "TASK-1",
            str(ledger),
        ],
        env={**os.environ, **told},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )


def run_example(name: str, real: Real, ledger: Path) -> str:
    done = start(name, real, ledger)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", EXAMPLES)
def test_it_pays_once_and_what_was_approved(
    real: Real, tmp_path: Path, name: str
) -> None:
    ledger = tmp_path / "ledger"
    assert "A person is asked: " in run_example(name, real, ledger)
    assert not ledger.exists()
    real._answer("edit", {"arguments": {"amount": "1200.00"}})
    wait_until(lambda: real.api.get("approvals").json()["items"][0]["next"] == "redeem")
    assert "Paid 1200.00 to Halden Paper." in run_example(name, real, ledger)
    run_example(name, real, ledger)
    (line,) = ledger.read_text().splitlines()
    assert json.loads(line)["amount"] == "1200.00"
    ((tool, *came),) = real.effects()
    assert tool.endswith("send_payment")
    assert came == ["confirmed", ""]
    assert real.runs() == ["completed"]


@pytest.mark.parametrize("name", sorted({*EXAMPLES} - DIE_ELSEWHERE))
def test_what_died_between_the_payment_and_its_report_does_not_pay_again(
    real: Real, tmp_path: Path, name: str
) -> None:
    ledger = tmp_path / "ledger"
    run_example(name, real, ledger)
    real.decide(real.pending(), "approve")
    wait_until(lambda: real.api.get("approvals").json()["items"][0]["next"] == "redeem")
    assert start(name, real, ledger, dies=True).returncode == 9
    again = start(name, real, ledger)
    assert len(ledger.read_text().splitlines()) == 1
    ((_, state, _),) = real.effects()
    if (
        name == "claude_agent"
    ):  # what is recorded is that the permission was handed over
        assert (state, "was permitted before" in again.stdout) == ("confirmed", True)
    else:
        assert state != "confirmed"
        assert "InDoubt: nobody knows what came of send_payment" in again.stderr
