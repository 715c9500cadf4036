"""A verb up to its commit, which does not come: what it would have been allowed to do."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from kernel.problems import Problem
from tenants import verbs
from tenants.verbs import Verb

MAY = "may"
NOTHING = "nothing to do"


class Rehearsed(Exception):
    """All of the verb was done, and is taken back."""


@contextmanager
def rehearsing() -> Iterator[None]:
    """Within, no verb commits: each that is not refused ends as `Rehearsed`."""
    former = list(verbs._tellings)
    verbs.register_telling(_stop)
    try:
        yield
    finally:
        verbs._tellings[:] = former


def _stop(verb: Verb) -> None:
    raise Rehearsed


def outcome(act: Callable[[], Any]) -> str:
    """`may`, the code with which it was refused, or that there was nothing to do."""
    try:
        done = act()
    except Rehearsed:
        return MAY
    except Problem as problem:
        return problem.code
    assert not done, "it committed"
    return NOTHING
