"""What the server in memory keeps, its simulated time, and how it refuses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

Json = dict[str, Any]
START = datetime(2030, 1, 1, tzinfo=UTC)
TOO_LONG = 400 * 86_400
OPEN = frozenset({"pending", "changes_requested", "approved"})


class Refuse(Exception):
    """An answer that is no success."""

    def __init__(self, status: int, code: str, **more: Any) -> None:
        self.status = status
        self.document = {"code": code, "status": status, "detail": code, **more}


@dataclass(frozen=True)
class Asked:
    """One request: the words of its path, its body or query, and its fence."""

    words: list[str]
    body: Json
    fence: int

    @property
    def id(self) -> str:
        return self.words[1]


@dataclass
class Rows:
    """`decide` is called with each open question whenever somebody looks at it."""

    decide: Callable[[Json], None]
    seconds: float = 0.0
    sessions: dict[str, Json] = field(default_factory=dict)
    runs: dict[str, Json] = field(default_factory=dict)
    checkpoints: dict[str, list[Json]] = field(default_factory=dict)
    approvals: dict[str, Json] = field(default_factory=dict)
    effects: dict[str, Json] = field(default_factory=dict)
    items: dict[str, list[Json]] = field(default_factory=dict)
    kept: dict[str, tuple[bytes, int, Json]] = field(default_factory=dict)

    def now(self) -> datetime:
        return START + timedelta(seconds=self.seconds)

    def time(self) -> str:
        return self.now().isoformat()

    def age(self, approval: Json) -> float:
        asked = datetime.fromisoformat(approval["created_at"])
        return (datetime.fromisoformat(self.time()) - asked).total_seconds()

    def later(self, seconds: float) -> str:
        return (self.now() + timedelta(seconds=seconds)).isoformat()

    def pass_time(self, seconds: float) -> None:
        self.seconds += seconds
        if self.seconds > TOO_LONG:
            raise AssertionError("this test waits for what will never happen")

    def session(self, id: str) -> Json:
        return row(self.sessions, id)

    def run(self, id: str) -> Json:
        return row(self.runs, id)

    def approval(self, id: str) -> Json:
        return row(self.approvals, id)

    def written(self, asked: Asked) -> Json:
        """The run, if the caller is its writer."""
        run = self.run(asked.id)
        if run["ended_at"] is not None:
            raise Refuse(409, "run_ended")
        if asked.fence != run["fence"]:
            raise Refuse(409, "stale_writer")
        return run


def row(rows: Mapping[str, Json], id: str) -> Json:
    if id not in rows:
        raise Refuse(404, "not_found")
    return rows[id]
