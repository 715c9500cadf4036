"""What a stop would reach, before anybody says that it shall."""

from dataclasses import dataclass
from datetime import datetime

from oversight.presentation.forms import Form


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """Counts of now. `started` actions are out already: nothing recalls them."""

    runs: int
    requests: int
    grants: int
    standing: int
    started: int
    queues: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Turned:
    """Who turned the switch last, when, and why."""

    by: str
    at: datetime
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StopView:
    """In the context as `stop`. `kind` is agent, tool or tenant; `on`: it may work."""

    kind: str
    name: str
    on: bool
    back_href: str
    back: str
    here: str
    reach: Reach
    last: Turned | None
    form: Form
    now: datetime
