"""Where a drill is held: an installation, and what may be done to it.

Any installation has a tenant to throw away. Killing, stopping, wiping and rewriting are
for one that the drill has started by itself: `harm` is None elsewhere.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from kernel.ids import new_id
from oversight.drills.barriers import Barriers
from oversight.drills.tool import ToolHandle


class Harm(Protocol):
    """What only happens to an installation that nobody else uses."""

    @property
    def barriers(self) -> Barriers:
        """The places at which its workers can be held."""

    @property
    def claim_seconds(self) -> int:
        """How long a claim of its workers lasts."""

    @property
    def restarts(self) -> float:
        """The seconds that a worker needs until it works again, generously."""

    def kill(self, pid: int) -> None:
        """`kill -9` one process of the worker; the pool replaces it."""

    def kill_worker(self) -> None:
        """`kill -9` the worker itself, with all it has started; it starts again."""

    def wait_for_worker(self) -> None:
        """Until the successor of a killed worker takes work."""

    def standing_still(self, pid: int) -> AbstractContextManager[None]:
        """SIGSTOP one process; SIGCONT when the block ends."""

    def no_worker(self) -> AbstractContextManager[None]:
        """No worker at all meanwhile; one is ready when the block has ended."""

    def skewed(self, seconds: int) -> AbstractContextManager[None]:
        """Web and worker whose clocks are off. Raises `Skipped` where none can be."""

    def wipe_broker(self) -> int:
        """Forget every message; how many there were."""

    def multiply_messages(self, times: int) -> int:
        """Let the broker deliver each message that waits `times` times."""

    def broker_down(self) -> AbstractContextManager[None]:
        """Nobody can publish or fetch."""

    def database_down(self) -> AbstractContextManager[None]:
        """PostgreSQL is stopped, and runs again when the block has ended."""

    def execute(
        self, statement: str, parameters: Mapping[str, Any] | Sequence[Any] = ()
    ) -> list[tuple[Any, ...]]:
        """As the database's superuser, past policies and triggers; what it returns."""

    def backup(self) -> Path:
        """A copy of the database, as cold as it can be."""

    def restore(self, copy: Path) -> None:
        """The database as it was when the copy was made."""


class Skipped(Exception):
    """The drill cannot be held here; the message says what it lacks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """`url` is the installation's, `tools` that of the drill's own tool process."""

    url: str
    tools: str
    harm: Harm | None = None

    def new_tool(self) -> ToolHandle:
        """An external tool that nobody has spoken of yet."""
        return ToolHandle(self.tools, new_id().hex)
