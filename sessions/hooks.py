"""What the rooms above add to a run. They provide it at start; nobody imports upwards.

Without them, a run has no questions open and a paused one cannot be ended.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from sessions.models import Run
from tenants.verbs import Verb

type OpenRequests = Callable[[Collection[UUID]], Mapping[UUID, Sequence[UUID]]]
"""Of these runs, which requests are not resolved; called in the tenant's scope."""

type Closing = Callable[[Verb, Run], None]
"""Closes what an ending run leaves open: a locked run, before it ends. May refuse."""


@dataclass(slots=True)
class Hooks:
    """The one place where they are kept."""

    open_requests: OpenRequests = lambda _: {}
    closing: Closing | None = None


hooks = Hooks()
