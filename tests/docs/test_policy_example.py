"""The policies that the how-to shows pass their own cases, as printed."""

import io
import re
from pathlib import Path

from django.core.management import call_command

PAGE = Path(__file__).resolve().parents[2] / "docs/how-to/write-a-policy.md"


def test_the_printed_file_has_no_flaw_and_its_cases_come_out(tmp_path: Path) -> None:
    (printed,) = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    file, out = tmp_path / "policies.yaml", io.StringIO()
    file.write_text(printed)
    call_command("policy", "lint", str(file), stdout=out)
    call_command("policy", "test", str(file), stdout=out)
    assert "a large payment needs two" in out.getvalue()
