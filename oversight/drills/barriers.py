"""Arming the named places of the resume path (`approvals.resume.barriers`)."""

from dataclasses import dataclass
from pathlib import Path

from oversight.drills.waiting import wait_until


@dataclass(frozen=True, slots=True)
class Barriers:
    """The folder that workers were told of by `KEYTURN_TEST_BARRIERS`."""

    folder: Path

    def arm(self, name: str) -> None:
        """Hold whoever comes to this place next."""
        (self.folder / f"{name}.armed").touch()

    def reached(self, name: str, *, seconds: float = 30.0) -> int:
        """Wait until somebody is held there; their process id."""
        wait_until(f"{name} is reached", lambda: self._held(name), seconds=seconds)
        return self._held(name)[0]

    def release(self, name: str) -> None:
        """Let whoever is held there go on, and nobody be held any more."""
        for file in self.folder.glob(f"{name}.*"):
            file.unlink(missing_ok=True)

    def clear(self) -> None:
        """As if nothing had ever been armed."""
        for file in self.folder.iterdir():
            file.unlink(missing_ok=True)

    def _held(self, name: str) -> list[int]:
        ends = (file.suffix[1:] for file in self.folder.glob(f"{name}.*"))
        return [int(end) for end in ends if end.isdigit()]
