"""A log line is one line, whatever is in it."""

import json
import subprocess
import sys

import pytest

SCRIPT = """
import logging.config, sys
from config.logs import logging_configuration
logging.config.dictConfig(logging_configuration(json=sys.argv[1] == "json"))
import structlog
hostile = "first\\r\\nFORGED\\x1b[2Jline\\x9b"
structlog.get_logger("ours").info(hostile, tenant="t1", value=hostile)
logging.getLogger("theirs").warning("said %s", hostile)
try:
    raise ValueError(hostile)
except ValueError:
    logging.getLogger("theirs").exception("failed")
"""


def lines(form: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, form], capture_output=True, check=True
    )
    assert done.stdout == b""
    return done.stderr.decode().splitlines()


def test_json_lines_hold_level_time_logger_and_context() -> None:
    first, second, third = (json.loads(line) for line in lines("json"))
    assert (first["level"], first["logger"], first["tenant"]) == ("info", "ours", "t1")
    assert first["event"] == r"first\x0d\x0aFORGED\x1b[2Jline\x9b"
    assert first["timestamp"].endswith("Z")
    assert (second["level"], second["logger"]) == ("warning", "theirs")
    assert second["event"] == r"said first\x0d\x0aFORGED\x1b[2Jline\x9b"
    assert third["exception"][0]["exc_type"] == "ValueError"


@pytest.mark.parametrize("form", ["json", "console"])
def test_no_message_forges_a_line_or_drives_a_terminal(form: str) -> None:
    written = lines(form)
    assert not any(line.startswith("FORGED") for line in written)
    assert not any("\x1b" in line or "\x9b" in line for line in written)
