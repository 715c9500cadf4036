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


def run_example(name: str, real: Real, ledger: Path) -> str:
    told = {"KEYTURN_URL": real.url, "KEYTURN_API_KEY": real.house.robot.text}
    module = f"examples.frameworks.{name}"
    return subprocess.check_output(
        [sys.executable, "-m", module, "TASK-1", str(ledger)],
        env={**os.environ, **told},
        cwd=ROOT,
        text=True,
    )


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
