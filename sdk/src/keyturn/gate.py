"""`require_approval`: a function that runs only once somebody has agreed to the call."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

from keyturn import calls, questions, work
from keyturn.acting import Action, ask_and_take
from keyturn.asks import Ask, Risk
from keyturn.client import AsyncClient, Client
from keyturn.flows import Connection, Flow
from keyturn.waiting import Waiting, say_waiting
from keyturn.work import AsyncRun, Run

P = ParamSpec("P")
R = TypeVar("R")
W = TypeVar("W", Run, AsyncRun)
Text = str | Callable[..., str]
"""A text, or how to make one from the call's arguments, given by name."""


def require_approval(
    *,
    tool: str,
    risk: Risk | None = None,
    key: Text | None = None,
    target: Any = None,
    explanation: Text | None = None,
    subject: str | None = None,
    wait: float | None = None,
    external_id: Callable[[Any], str] | None = None,
    nothing_done: tuple[type[BaseException], ...] = (),
    repeatable: bool = False,
    decide_within: int | None = None,
    use_within: int | None = None,
    on_wait: Waiting | None = say_waiting,
    client: Client | AsyncClient | None = None,
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function run only once its call was approved, with the approved arguments.

    `wait` is for how many seconds to wait for people before `Paused` is raised, and for
    what stands in the way of an approved call before `Delayed` is (None: as long as it
    takes); an absent server is tried for the client's `patience` besides. The same call with the same `key` finds the question again, also
    from another process: outside a run for 7 days, as long as the server keeps answers to
    idempotency keys, and inside a run as long as there is the run. Without a `key` each
    call is a question of its own.
    `nothing_done` names exceptions after which certainly nothing has happened; after any
    other the outcome is reported as unknown. `external_id` takes the result and names
    what was made. `on_wait` is told of the question before people are waited for: by
    default a line with its `review_url` goes to standard error; None says nothing.
    `repeatable`: see `Action`. Inside a run's block the question belongs
    to that run.

    A call without a `key`, outside a run, that is stopped while it waits (Ctrl-C, a
    cancelled task) takes its question back: nobody could find it again.

    The call raises `Paused`, `Rejected`, `Expired`, `TakenBack`, `Answered`,
    `ChangesRequested`, `DoneAlready`, `InDoubt`, `VerificationRefused`, `NotExact`,
    `KeyReused` (inside a run; outside it is `Invalid`), and what the function raises.
    It raises TypeError for a `client`, or a run around the call, of the other kind:
    coroutines ask with `AsyncClient`, functions with `Client`.
    """

    def gate(function: Callable[P, R]) -> Callable[P, R]:
        made = Gate(
            function=function,
            signature=_signature(function),
            ask={
                "tool": tool,
                "risk": risk,
                "decide_within": decide_within,
                "use_within": use_within,
            },
            target=target,
            key=key,
            explanation=explanation,
            subject=subject,
            timeout=wait,
            on_wait=on_wait,
            action=Action(
                function=function,
                tool=tool,
                fits=lambda arguments: inspect.signature(function).bind(**arguments),
                nothing_done=nothing_done,
                external_id=external_id,
                repeatable=repeatable,
            ),
        )
        return _gated(made, function, client)

    return gate


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """One function and how its calls are asked about."""

    function: Callable[..., Any]
    signature: inspect.Signature
    ask: Mapping[str, Any]
    target: Any
    key: Text | None
    explanation: Text | None
    subject: str | None
    timeout: float | None
    on_wait: Waiting | None
    action: Action[Any]

    def alone(self, connection: Connection, arguments: dict[str, Any]) -> Flow[Any]:
        """Asked in one call, in a run of its own."""
        ask = self._ask(arguments)
        key = _told(self.key, arguments)
        asked = calls.request_approval(
            ask,
            subject=self.subject,
            key=None if key is None else calls.key_from(ask.tool, key),
        )
        return ask_and_take(
            connection,
            asked,
            self.action,
            timeout=self.timeout,
            waiting=self.on_wait,
            found_again=key is not None,
        )

    def within(self, run: Any, arguments: dict[str, Any]) -> Flow[Any]:
        """Asked in the run that is under way."""
        ask = self._ask(arguments)
        key = _told(self.key, arguments)
        if key is not None:
            ask = questions.keyed(ask, key)
        return work.act(
            run, ask, self.action, timeout=self.timeout, waiting=self.on_wait
        )

    def arguments(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """The whole call by name, defaults included: what a person is shown."""
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        named: dict[str, Any] = {}
        for name, value in bound.arguments.items():
            kind = self.signature.parameters[name].kind
            named |= value if kind is inspect.Parameter.VAR_KEYWORD else {name: value}
        return named

    def _ask(self, arguments: dict[str, Any]) -> Ask:
        target = self.target(**arguments) if callable(self.target) else self.target
        return Ask(
            arguments=arguments,
            target=target,
            explanation=_told(self.explanation, arguments) or "",
            **self.ask,
        )


def _gated(
    gate: Gate, function: Callable[P, R], client: Client | AsyncClient | None
) -> Callable[P, R]:
    later = inspect.iscoroutinefunction(function)
    wanted = AsyncClient if later else Client
    if not (client is None or isinstance(client, wanted)):
        raise TypeError(f"{function} asks with a {wanted.__name__}, not with {client}")
    if later:

        @wraps(function)
        async def ask_first(*args: P.args, **kwargs: P.kwargs) -> Any:
            arguments = gate.arguments(*args, **kwargs)
            run = _current(AsyncRun)
            if run is not None:
                return await run.drive(gate.within(run, arguments))
            if isinstance(client, AsyncClient):
                return await client.drive(gate.alone(client, arguments))
            async with connect_async() as own:
                return await own.drive(gate.alone(own, arguments))

        return cast(Callable[P, R], ask_first)

    @wraps(function)
    def ask_before(*args: P.args, **kwargs: P.kwargs) -> Any:
        arguments = gate.arguments(*args, **kwargs)
        run = _current(Run)
        if run is not None:
            return run.drive(gate.within(run, arguments))
        used = client if isinstance(client, Client) else default_client()
        return used.drive(gate.alone(used, arguments))

    return cast(Callable[P, R], ask_before)


def _current(kind: type[W]) -> W | None:
    """The run around the call. Raises TypeError if it cannot take the question."""
    run = work.current_run()
    if run is None or isinstance(run, kind):
        return run
    raise TypeError(f"within a {type(run).__name__} this function cannot ask")


def _signature(function: Callable[..., Any]) -> inspect.Signature:
    """Raises TypeError for parameters that no reviewer could read or change by name,
    and for generators, which do nothing when they are called."""
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"{function}: a generator would act after its outcome was told")
    signature = inspect.signature(function)
    unnamed = (
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.VAR_POSITIONAL,
    )
    for parameter in signature.parameters.values():
        if parameter.kind in unnamed:
            raise TypeError(f"{parameter}: only parameters with a name can be approved")
    return signature


def _told(text: Text | None, arguments: Mapping[str, Any]) -> str | None:
    return text(**arguments) if callable(text) else text


# -- The client that is used where none is named ------------------------------------------

_lock = threading.Lock()
_default: Client | None = None
_make_async: Callable[[], AsyncClient] = AsyncClient


def default_client() -> Client:
    """The process's client, from the environment. Raises `NotConfigured`."""
    global _default
    with _lock:
        if _default is None:
            _default = Client()
        return _default


def connect_async() -> AsyncClient:
    """A client for one call on one event loop, from the environment."""
    return _make_async()


@contextmanager
def using(client: Client, make_async: Callable[[], AsyncClient]) -> Iterator[None]:
    """Let these be used where none is named: for tests."""
    global _default, _make_async
    before = _default, _make_async
    _default, _make_async = client, make_async
    try:
        yield
    finally:
        _default, _make_async = before
