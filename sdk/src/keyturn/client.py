"""The agent API's two clients: `Client` for threads, `AsyncClient` for event loops.

Both have the same operations. They raise `keyturn.errors`; a POST carries an
idempotency key of its own unless it is given one, and is sent again until it has an
answer or `patience` (seconds) is over.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, closing
from types import TracebackType
from typing import Any, Self

import httpx

from keyturn import calls, flows
from keyturn.drivers import Async, Operation, Sync, understood
from keyturn.errors import NotConfigured
from keyturn.events import Event, Following
from keyturn.flows import LONGEST_WAIT, Busy, call
from keyturn.work import AsyncRun, Run

DEFAULT_URL = "http://127.0.0.1:8000"
PATIENCE = 300.0
_LOCAL = ("127.0.0.1", "::1", "localhost")


class _Api:
    patience: float

    open_session = Operation(call(calls.open_session))
    get_session = Operation(call(calls.get_session))
    list_sessions = Operation(call(calls.list_sessions))
    append_items = Operation(call(calls.append_items))
    list_items = Operation(call(calls.list_items))
    pop_item = Operation(call(calls.pop_item))
    clear_items = Operation(call(calls.clear_items))
    replace_items = Operation(call(calls.replace_items))
    begin_branch = Operation(call(calls.begin_branch))
    list_branches = Operation(call(calls.list_branches))
    put_artifact = Operation(call(calls.put_artifact))
    list_artifacts = Operation(call(calls.list_artifacts))
    get_artifact = Operation(call(calls.get_artifact))
    get_artifact_content = Operation(call(calls.get_artifact_content))
    remove_artifact = Operation(call(calls.remove_artifact))
    keep_summary = Operation(call(calls.keep_summary))
    get_context = Operation(call(calls.get_context))
    record_context = Operation(call(calls.record_context))
    start_run = Operation(call(calls.start_run))
    get_run = Operation(call(calls.get_run))
    list_runs = Operation(call(calls.list_runs))
    claim_run = Operation(call(calls.claim_run))
    heartbeat_run = Operation(call(calls.heartbeat_run))
    record_transition = Operation(call(calls.record_transition))
    list_transitions = Operation(call(calls.list_transitions))
    get_state = Operation(call(calls.get_state))
    diff_state = Operation(call(calls.diff_state))
    list_workflows = Operation(call(calls.list_workflows))
    get_workflow = Operation(call(calls.get_workflow))
    complete_run = Operation(call(calls.complete_run))
    fail_run = Operation(call(calls.fail_run))
    cancel_run = Operation(call(calls.cancel_run))
    save_checkpoint = Operation(call(calls.save_checkpoint))
    get_checkpoint = Operation(call(calls.get_checkpoint))
    restore_checkpoint = Operation(call(calls.restore_checkpoint))
    fork_run = Operation(call(calls.fork_run))
    pause_run = Operation(call(calls.pause_run))
    request_approval = Operation(call(calls.request_approval))
    get_approval = Operation(call(calls.get_approval))
    list_approvals = Operation(call(calls.list_approvals))
    list_standing_approvals = Operation(call(calls.list_standing_approvals))
    revise_approval = Operation(call(calls.revise_approval))
    withdraw_approval = Operation(call(calls.withdraw_approval))
    redeem_approval = Operation(call(calls.redeem_approval))
    ask_hitl_request = Operation(call(calls.ask_hitl_request))
    get_hitl_response = Operation(call(calls.get_hitl_response))
    ask_human_interrupt = Operation(call(calls.ask_human_interrupt))
    get_human_response = Operation(call(calls.get_human_response))
    resume_interrupts = Operation(call(calls.resume_interrupts))
    get_effect = Operation(call(calls.get_effect))
    report_effect = Operation(call(calls.report_effect))
    wait = Operation(flows.wait)


class Client(_Api, Sync):
    """A connection for threads; close it, or use it as a context.

    Without arguments address and key are those of `KEYTURN_URL` and `KEYTURN_API_KEY`.
    Raises `NotConfigured`.
    """

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        patience: float = PATIENCE,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.patience = patience
        self._http = httpx.Client(**_options(url, api_key), transport=transport)

    def run(self, name: str, **options: Any) -> Run:
        """A run as a context; see `keyturn.work.Work` for `subject` and more."""
        return Run(self, name, **options)

    def stream_events(self, *, after: int | None = None) -> Iterator[Event]:
        """What happens to the agent's work, as it happens: each once, in order.

        `after` is the number of the last event that is known (0: from the start); what
        follows it comes first, also after every break. None begins now, and what
        happens in a break before the first event is missed. It goes on until it is
        closed; an absent server is tried for `patience`. Raises `Unreachable`, and
        `Refused` when the key may not read any more.
        """
        following = Following(self, after)
        while True:
            why: httpx.TransportError | Busy | None = None
            try:
                yield from self._follow(following)
            except (httpx.TransportError, Busy) as broken:
                why = broken
            self.take(following.again(why))

    def _follow(self, following: Following) -> Iterator[Event]:
        response = self._http.send(following.request(self._http), stream=True)
        with closing(response):
            if not response.is_success:
                response.read()
                understood(response)
            following.begun()
            for part in response.iter_bytes():
                yield from following.take(part)

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class AsyncClient(_Api, Async):
    """A connection for the running event loop; otherwise as `Client`."""

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        patience: float = PATIENCE,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.patience = patience
        self._http = httpx.AsyncClient(**_options(url, api_key), transport=transport)

    def run(self, name: str, **options: Any) -> AsyncRun:
        """A run as a context; see `keyturn.work.Work` for `subject` and more."""
        return AsyncRun(self, name, **options)

    async def stream_events(self, *, after: int | None = None) -> AsyncIterator[Event]:
        """As `Client.stream_events`."""
        following = Following(self, after)
        while True:
            why: httpx.TransportError | Busy | None = None
            try:
                async with aclosing(self._follow(following)) as events:
                    async for event in events:
                        yield event
            except (httpx.TransportError, Busy) as broken:
                why = broken
            await self.take(following.again(why))

    async def _follow(self, following: Following) -> AsyncGenerator[Event]:
        request = following.request(self._http)
        response = await self._http.send(request, stream=True)
        async with aclosing(response):
            if not response.is_success:
                await response.aread()
                understood(response)
            following.begun()
            async for part in response.aiter_bytes():
                for event in following.take(part):
                    yield event

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()


def _options(url: str | None, api_key: str | None) -> dict[str, Any]:
    base = httpx.URL(url or os.environ.get("KEYTURN_URL") or DEFAULT_URL)
    key = api_key or os.environ.get("KEYTURN_API_KEY")
    if not key:
        raise NotConfigured("there is no key: set KEYTURN_API_KEY")
    if base.scheme != "https" and base.host not in _LOCAL:
        raise NotConfigured(
            f"{base.host}: a key is sent over https, or to this machine"
        )
    return {
        "base_url": base.join("/api/v1/"),
        "headers": {"Authorization": f"Bearer {key}"},
        "timeout": httpx.Timeout(10.0, read=LONGEST_WAIT + 15.0),
        "trust_env": False,  # no proxy that the environment happens to name
    }
