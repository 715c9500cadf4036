"""What a drill came to, as one JSON document, and where the last one is kept."""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from django.conf import settings

from oversight.drills.incident import Verdict
from oversight.drills.scene import Counts, Evidence

FORMAT: Final = "keyturn/drill/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """`at` is when it began (RFC 3339), `seconds` how long it took."""

    at: str
    seconds: float
    installation: str
    verdicts: tuple[Verdict, ...]

    @property
    def passed(self) -> bool:
        """Whether something was held, and nothing of it failed."""
        words = {verdict.word for verdict in self.verdicts}
        return "passed" in words and "failed" not in words

    @property
    def counts(self) -> Counts:
        total = Counts()
        for verdict in self.verdicts:
            total.add(verdict.counts)
        return total

    def how_many(self, word: str) -> int:
        return sum(verdict.word == word for verdict in self.verdicts)

    def as_json(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "at": self.at,
            "seconds": round(self.seconds, 1),
            "installation": self.installation,
            "passed": self.passed,
            "verdicts": {
                word: self.how_many(word) for word in ("passed", "failed", "skipped")
            },
            "counts": asdict(self.counts),
            "incidents": [verdict_as_json(verdict) for verdict in self.verdicts],
        }


def verdict_as_json(verdict: Verdict) -> dict[str, Any]:
    """One verdict: what a child process prints, and what the report holds."""
    return asdict(verdict)


def verdict_from_json(said: Mapping[str, Any]) -> Verdict:
    """Raises KeyError or TypeError if that is none."""
    counts = Counts(**said["counts"])
    evidence = tuple(Evidence(**each) for each in said["evidence"])
    return Verdict(**{**said, "counts": counts, "evidence": evidence})


def report_from_json(said: Mapping[str, Any]) -> Report:
    """Raises KeyError or TypeError if that is none."""
    return Report(
        at=said["at"],
        seconds=said["seconds"],
        installation=said["installation"],
        verdicts=tuple(map(verdict_from_json, said["incidents"])),
    )


def report_file() -> Path:
    """Where the last report is: in the data folder of the process that wrote it."""
    return Path(settings.DATA_DIR) / "drills" / "last.json"


def keep(report: Report) -> str:
    """Write it in place of the last one, whole or not at all; its SHA-256, in hex."""
    file = report_file()
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    text = json.dumps(report.as_json(), indent=2).encode()
    draft = file.with_suffix(f".{os.getpid()}")
    draft.write_bytes(text)
    draft.replace(file)
    return hashlib.sha256(text).hexdigest()


def last_report() -> Report | None:
    """The last one; None if there is none, or it cannot be read."""
    try:
        return report_from_json(json.loads(report_file().read_bytes()))
    except (OSError, ValueError, KeyError, TypeError):
        return None
