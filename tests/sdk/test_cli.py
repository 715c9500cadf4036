"""`keyturn ask` as shell scripts use it: exit codes, arguments, outcomes."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from keyturn import Ask, NothingDone, Position, Unintelligible, Unreported, cli, errors
from keyturn.acting import redeem_when_ready
from keyturn.flows import Busy
from tests.sdk.worlds import Real

USAGE = {errors.NotConfigured, errors.NotExact, errors.KeyReused}
ARGS = '{"version": "1.4.2", "to": "production"}'


def _kinds(kind: type[errors.KeyturnError]) -> list[type[errors.KeyturnError]]:
    return [kind, *(one for below in kind.__subclasses__() for one in _kinds(below))]


@pytest.fixture
def keyturn(real: Real, tmp_path: Path) -> Any:
    """The installed program."""

    def run(*words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        program = Path(sys.executable).parent / "keyturn"
        environment = {
            **os.environ,
            "KEYTURN_URL": real.url,
            "KEYTURN_API_KEY": real.house.robot.text,
        }
        return subprocess.run(
            [str(program), *words],
            env=environment,
            cwd=tmp_path,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
        )

    return run


def test_edited_arguments_are_printed_and_the_outcome_is_reported(
    keyturn: Any, real: Real, tmp_path: Path
) -> None:
    (tmp_path / "release.json").write_text(ARGS)
    real.answer("edit", arguments={"to": "staging"})
    done = keyturn("ask", "--tool", "deploy", "--args", "@release.json", "--wait")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"version": "1.4.2", "to": "staging"}
    effect = done.stderr.split("keyturn report ")[1].split()[0]
    told = keyturn("report", effect, "confirmed", "--external-id", "D-7")
    assert told.returncode == 0, told.stderr
    assert real.effects() == [("deploy", "confirmed", "D-7")]
    assert real.runs() == ["completed"]


def test_a_command_is_run_with_what_was_approved(
    keyturn: Any, real: Real, tmp_path: Path
) -> None:
    script = tmp_path / "deploy.sh"
    script.write_text('cat > got.json; printenv KEYTURN_IDEMPOTENCY_KEY > "key"\n')
    real.answer("edit", arguments={"to": "staging"})
    words = [
        "ask",
        "--tool",
        "deploy",
        "--args",
        "-",
        "--wait",
        "--",
        "sh",
        "deploy.sh",
    ]
    done = keyturn(*words, stdin=ARGS)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert json.loads((tmp_path / "got.json").read_text())["to"] == "staging"
    assert len((tmp_path / "key").read_text().strip()) == 64
    assert real.effects() == [("deploy", "confirmed", "")]


@pytest.mark.parametrize(
    ("command", "outcome"), [("false", "unknown"), ("no-such-program", "failed")]
)
def test_a_command_that_fails_is_no_success(
    keyturn: Any, real: Real, command: str, outcome: str
) -> None:
    real.answer("approve")
    done = keyturn("ask", "--tool", "deploy", "--wait", "--", command)
    assert done.returncode == 8, done.stderr
    assert real.effects() == [("deploy", outcome, "")]


@pytest.mark.parametrize("outcome", ["confirmed", "failed"])
def test_a_report_ends_no_run_that_goes_on(
    keyturn: Any, real: Real, outcome: str
) -> None:
    real.answer("approve")
    ask = Ask(tool="deploy", arguments={})
    with real.client() as client, client.run("TASK-1", subject="customer-7") as run:
        run.ask(ask)
        (asked,) = run.pause([ask])
        turn = client.drive(redeem_when_ready(client, asked.id, timeout=None))
        assert keyturn("report", turn.effect.id, outcome).returncode == 0
        assert run.refresh().state == "running"
        run.checkpoint({"step": "deployed"})


def test_nor_one_that_has_something_to_go_on_from(keyturn: Any, real: Real) -> None:
    real.answer("approve")
    with real.client() as client:
        run = client.start_run(client.open_session(subject="customer-7").id)
        position = Position(parent=None, payload='{"step": "built"}')
        ask = Ask(tool="deploy", arguments={})
        asked = client.pause_run(run.id, position, [ask], fence=run.fence).requests[0]
        turn = client.drive(redeem_when_ready(client, asked.id, timeout=None))
        assert keyturn("report", turn.effect.id, "confirmed").returncode == 0
        assert client.get_run(run.id).state == "running"


@pytest.mark.parametrize(
    ("verdict", "said", "code"),
    [
        ("reject", {"reason": "Freeze"}, 1),
        ("respond", {"response": {"use": "1.4.3"}}, 5),
        ("request_changes", {"reason": "Which?"}, 6),
    ],
)
def test_without_an_approval_nothing_runs(
    keyturn: Any, real: Real, tmp_path: Path, verdict: str, said: Any, code: int
) -> None:
    real.answer(verdict, **said)
    words = ["ask", "--tool", "deploy", "--args", ARGS, "--wait", "--"]
    done = keyturn(*words, "touch", "done")
    assert done.returncode == code, done.stderr
    assert not (tmp_path / "done").exists()
    if verdict == "respond":
        assert json.loads(done.stdout) == {"use": "1.4.3"}


def test_nobody_in_time(keyturn: Any) -> None:
    """Expired for good is 2; asked and not answered yet is 4."""
    short = ["ask", "--tool", "deploy", "--decide-within", "1", "--wait"]
    assert keyturn(*short).returncode == 2
    later = keyturn("ask", "--tool", "deploy")
    assert (later.returncode, later.stdout) == (4, "")
    assert "asked: http" in later.stderr


def test_what_the_server_refuses(keyturn: Any, real: Real) -> None:
    secret = '{"key": "sk_live_' + '4eC39HqLyjWDarjtT1zdp7dc"}'
    done = keyturn("ask", "--tool", "deploy", "--args", secret)
    assert done.returncode == 3
    assert "secret_in_arguments at /arguments/key" in done.stderr
    assert keyturn("ask", "--tool", "", "--wait").returncode == 3


@pytest.mark.parametrize(
    "words",
    [
        ["ask"],
        ["ask", "--tool", "deploy", "--args", "[1]"],
        ["ask", "--tool", "deploy", "--args", '{"a": 1, "a": 2}'],
        ["ask", "--tool", "deploy", "--args", "@missing.json"],
        ["ask", "--tool", "deploy", "--arg", "{}"],
        ["ask", "--tool", "deploy", "--risk", "none"],
        ["approve", "--tool", "deploy"],
        [],
    ],
    ids=" ".join,
)
def test_wrong_words_are_neither_guessed_at_nor_an_answer(words: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(words)
    assert ended.value.code == 64


@pytest.mark.parametrize("number", ["NaN", "1e400", "9007199254740993"])
def test_inexact_numbers_are_refused(
    number: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEYTURN_API_KEY", "kt_x")
    words = ["ask", "--tool", "deploy", "--args", f'{{"n": {number}}}']
    assert cli.main(words) == 64


@pytest.mark.parametrize(
    "kind", _kinds(errors.KeyturnError), ids=lambda one: one.__name__
)
def test_each_exception_has_a_code_that_says_what_it_is(
    kind: type[errors.KeyturnError],
) -> None:
    """Wrong usage (64) is what the caller typed, and nothing that came of it."""
    told = cli._exit_code(kind.__new__(kind))
    assert told != 0
    assert (told == 64) == (kind in USAGE)
    assert str(told) in str(cli.__doc__)


def test_what_was_done_and_could_not_be_told_has_a_code_of_its_own() -> None:
    codes = [cli._exit_code(one.__new__(one)) for one in (Unreported, Unintelligible)]
    assert codes == [9, 76]
    assert cli._exit_code(NothingDone()) == 8


def test_a_busy_server_has_refused_nothing() -> None:
    assert cli._exit_code(Busy(503, {})) == cli._exit_code(Busy(429, {})) == 69


def test_no_server_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEYTURN_API_KEY", "kt_x")
    url = ["--url", "http://127.0.0.1:9", "--patience", "0.1"]
    assert cli.main([*url, "ask", "--tool", "deploy"]) == 69
