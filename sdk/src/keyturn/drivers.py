"""The two ways to take a flow's steps: in a thread, and on an event loop.

`Operation` makes one flow a method of both kinds of client, with the types of each.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable, Coroutine
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

import httpx

from keyturn.calls import NOT_MODIFIED, Answer, Call
from keyturn.errors import Unintelligible, refusal
from keyturn.flows import Busy, Connection, Flow, Sleep, Step, Transmit

T = TypeVar("T")
S = TypeVar("S")
P = ParamSpec("P")


class Sync(Connection):
    """Takes steps one after another, in the thread that asks."""

    _http: httpx.Client

    def drive(self, flow: Flow[T]) -> T:
        """Take all steps of a flow; what it returns."""
        resume: Callable[[Any], Step] = flow.send
        given: Any = None
        while True:
            try:
                step = resume(given)
            except StopIteration as ended:
                value: T = ended.value
                return value
            try:
                resume, given = flow.send, self.take(step)
            except BaseException as error:  # the flow decides what it means
                resume, given = flow.throw, error

    def take(self, step: Step) -> Any:
        if isinstance(step, Transmit):
            request = request_of(self._http, step.call)
            return understood(self._http.send(request), raw=step.call.raw)
        if isinstance(step, Sleep):
            return time.sleep(step.seconds)
        return _ran(step.function(**step.arguments))


class Async(Connection):
    """Takes steps on the running event loop."""

    _http: httpx.AsyncClient

    async def drive(self, flow: Flow[T]) -> T:
        """Take all steps of a flow; what it returns."""
        resume: Callable[[Any], Step] = flow.send
        given: Any = None
        while True:
            try:
                step = resume(given)
            except StopIteration as ended:
                value: T = ended.value
                return value
            try:
                resume, given = flow.send, await self.take(step)
            except BaseException as error:  # the flow decides what it means
                resume, given = flow.throw, error

    async def take(self, step: Step) -> Any:
        if isinstance(step, Transmit):
            request = request_of(self._http, step.call)
            answer = await self._http.send(request)
            return understood(answer, raw=step.call.raw)
        if isinstance(step, Sleep):
            return await asyncio.sleep(step.seconds)
        made = step.function(**step.arguments)
        return _ran(await made if inspect.isawaitable(made) else made)


def _ran(made: Any) -> Any:
    """What a function returned; raises TypeError if that has yet to run."""
    if inspect.iscoroutine(made) or inspect.isgenerator(made):
        made.close()
    elif not (inspect.isawaitable(made) or inspect.isasyncgen(made)):
        return made
    raise TypeError(
        f"a {type(made).__name__} was returned: what it does is not done yet"
    )


class Operation(Generic[S, P, T]):
    """A flow as a method: of `Sync` classes an ordinary one, of `Async` a coroutine's."""

    def __init__(self, flow: Callable[Concatenate[S, P], Flow[T]]) -> None:
        self.flow = flow
        self.__doc__ = flow.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: Sync, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(
        self, instance: Async, owner: type
    ) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        method = partial(_operate, instance, self.flow)
        method.__doc__ = self.__doc__
        return method


def _operate(instance: Any, flow: Any, *args: Any, **kwargs: Any) -> Any:
    return instance.drive(flow(instance, *args, **kwargs))


def request_of(
    http: httpx.Client | httpx.AsyncClient, call: Call[Any]
) -> httpx.Request:
    return http.build_request(
        call.method,
        call.path,
        params=call.query or None,
        content=call.content,
        headers=call.headers(),
    )


def understood(response: httpx.Response, *, raw: bool = False) -> Answer:
    """The answer; raises `Refused` and, for what passes by itself, `Busy`."""
    if raw and response.is_success:
        return Answer(response.status_code, response.content)
    document = _document(response)
    if response.is_success or response.status_code == NOT_MODIFIED:
        if response.is_success and document is None:
            raise Unintelligible(f"{response.request.url.path}: the answer is no JSON")
        tag = response.headers.get("ETag")
        return Answer(response.status_code, document, _clock(response), tag)
    if response.status_code in (429, 502, 503, 504):
        busy = Busy(
            response.status_code, document if isinstance(document, dict) else {}
        )
        asked = response.headers.get("Retry-After", "")
        busy.retry_after = float(asked) if asked.isdecimal() else 0.0
        raise busy
    raise refusal(response.status_code, document)


def _clock(response: httpx.Response) -> datetime | None:
    """The second that was named may be over, and it may have been that of a moment ago:
    servers look at the clock once a second. Then there is the way back."""
    try:
        said = parsedate_to_datetime(response.headers["Date"])
    except (KeyError, ValueError):
        return None
    return said + timedelta(seconds=2) + _taken(response)


def _taken(response: httpx.Response) -> timedelta:
    try:
        return response.elapsed
    except RuntimeError:  # it came from no network
        return timedelta(0)


def _document(response: httpx.Response) -> Any:
    try:
        return response.json()
    except ValueError:
        return None
