"""A function that runs only as somebody approved it, wherever the question was asked.

For frameworks that ask in one place and act in another: what they believe to be approved
lets nothing happen. The function finds the approval for its tool and exactly its
arguments among the run's questions, and uses it up.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

from keyturn import exact, questions, work
from keyturn.acting import Action, perform, redeem_when_ready
from keyturn.documents import Approval
from keyturn.errors import InDoubt, KeyturnError, ending
from keyturn.flows import Flow
from keyturn.turns import async_turn_of, turn_of
from keyturn.work import AsyncRun, Run, Work

P = ParamSpec("P")
R = TypeVar("R")


class NotAsked(KeyturnError):
    """Nobody was asked about this tool with exactly these arguments in this run."""


def as_approved(
    *,
    tool: str,
    nothing_done: tuple[type[BaseException], ...] = (),
    external_id: Callable[[Any], str] | None = None,
    timeout: float | None = 0,
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function run once for each approval of exactly such a call.

    It is called within a run's block. Raises `NotAsked`, what stands in the way of the
    approval (`Paused`, `Rejected`, `DoneAlready`, …), and what the function raises.
    """

    def gate(function: Callable[P, R]) -> Callable[P, R]:
        action = Action(
            function=function,
            tool=tool,
            fits=lambda arguments: inspect.signature(function).bind(**arguments),
            nothing_done=nothing_done,
            external_id=external_id,
        )
        return _gated(function, action, timeout)

    return gate


def _gated(
    function: Callable[P, R], action: Action[Any], timeout: float | None
) -> Callable[P, R]:
    signature = inspect.signature(function)

    def flow(run: Work, *args: Any, **kwargs: Any) -> Flow[Any]:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return act_as_approved(run, bound.arguments, action, timeout=timeout)

    if inspect.iscoroutinefunction(function):

        @wraps(function)
        async def act_later(*args: P.args, **kwargs: P.kwargs) -> Any:
            run = around(AsyncRun)
            async with async_turn_of(run):
                return await run.drive(flow(run, *args, **kwargs))

        return cast(Callable[P, R], act_later)

    @wraps(function)
    def act(*args: P.args, **kwargs: P.kwargs) -> Any:
        run = around(Run)
        with turn_of(run):
            return run.drive(flow(run, *args, **kwargs))

    return cast(Callable[P, R], act)


W = TypeVar("W", Run, AsyncRun)


def around(kind: type[W]) -> W:
    """The run around the call. Raises TypeError if there is none of that kind."""
    run = work.current_run()
    if not isinstance(run, kind):
        raise TypeError(f"this is called within the block of a {kind.__name__}")
    return run


def act_as_approved(
    run: Work,
    arguments: Mapping[str, Any],
    action: Action[Any],
    *,
    timeout: float | None,
) -> Flow[Any]:
    """Find the approval of such a call, use it up, act, report."""
    known = yield from questions.asked_before(run, run.id)
    found = _found(known, str(action.tool), dict(arguments))
    try:
        turn = yield from redeem_when_ready(run, found.id, timeout=timeout)
        run.fence = turn.effect.fencing_token
        return (yield from perform(run, turn, replace(action, tool=found.tool)))
    finally:
        yield from work._catch_up(run)


def _found(known: Sequence[Approval], tool: str, arguments: dict[str, Any]) -> Approval:
    """One that can be used up; otherwise the newest, whose state says why not."""
    fitting = [
        one
        for one in known
        if one.tool == tool and exact.same(one.arguments, arguments)
    ]
    if not fitting:
        raise NotAsked(f"nobody was asked about {tool} with these arguments")
    usable = [one for one in fitting if one.next == "redeem" and one.effect is None]
    if usable:
        return usable[-1]
    # An effect under way is somebody else's, or of a process that died in it.
    raise ending(fitting[0]) or InDoubt(fitting[0])
