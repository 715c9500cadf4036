"""What looking at the installation finds. The room above provides it at start.

Without it the page says that nothing was looked at; nobody imports upwards.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at. `state` is ok, warning or failed."""

    name: str
    state: str
    detail: str


type Examine = Callable[[], Iterable[Finding]]

_examine: list[Examine] = []


def register_examination(examine: Examine) -> None:
    """Let the page of the system ask `examine`, each time that it is shown."""
    _examine[:] = [examine]


def findings() -> tuple[Finding, ...]:
    """What is found now; nothing where nobody registered."""
    return tuple(one for examine in _examine for one in examine())
