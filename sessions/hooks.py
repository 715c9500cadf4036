"""What the rooms above add to a run. They provide it at start; nobody imports upwards.

Without them, a run has no questions open and a paused one cannot be ended.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from sessions.models import Item, Run, Session
from tenants.verbs import Verb

type OpenRequests = Callable[[Collection[UUID]], Mapping[UUID, Mapping[UUID, str]]]
"""Of these runs, which requests are not resolved, oldest first, and their states;
called in the tenant's scope."""

type Closing = Callable[[Verb, Run], None]
"""Closes what an ending run leaves open: a locked run, before it ends. May refuse."""

type Lost = Callable[[Sequence[Item], Sequence[Item]], Sequence[str]]
"""Of what a line said before and says after: what that matters is not said any more."""

type Critical = Callable[[Session, Run | None], Lost | None]
"""Finds what a locked session's line must go on saying, for its run; None: nothing."""


@dataclass(slots=True)
class Hooks:
    """The one place where they are kept."""

    open_requests: OpenRequests = lambda _: {}
    closing: Closing | None = None
    critical: Critical = lambda _session, _run: None


hooks = Hooks()
