"""Calls of another MCP server's tools: each asked about, then sent on once or not at all.

A call becomes a question for the tool of that name, after a prefix. Once it may happen it
is sent with the arguments that were approved. Whatever else comes of the question is a
tool error that says why. What the server behind says of its tools goes to the agent
alone: reviewers read what is registered in Keyturn.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from typing import Any

import anyio
import mcp.types as types
from mcp import Client as McpClient
from mcp import MCPError
from mcp.server import ServerRequestContext

from keyturn import calls, exact
from keyturn.acting import Action, current_effect, follow_and_end
from keyturn.asks import Ask
from keyturn.client import AsyncClient
from keyturn.documents import Approval
from keyturn.errors import (
    Answered,
    ChangesRequested,
    InDoubt,
    KeyturnError,
    NotApproved,
    NothingDone,
    Paused,
    Refused,
    Unreachable,
    Unreported,
)
from keyturn.flows import send
from keyturn.mcp.tools import LONGEST, LOOK, Desk, wait_for
from keyturn.tool_calls import ASK_AGAIN, refused
from keyturn.waiting import give_up

log = logging.getLogger("keyturn")

ASKING = 30.0  # seconds that an absent Keyturn is tried for before a call is refused
MOST_PAGES = 100
KEY = "keyturn/idempotency_key"  # in `_meta`, for a server that honours one
NOT_OFFERED = "The server behind has no such tool any more, or is gone."
UNANSWERED = "Nobody answered in time."
LEFT = "Whoever called no longer waits."
STOPPED = "The gateway was stopped."
A_MOMENT = 0.05  # seconds
OTHERS = "Keyturn carries this tool out itself."
UNKNOWN = (
    "The call was sent, and what came of it is not known. It is not sent again: find out"
    " before you ask for it once more."
)
# What a server answers before a tool was begun.
_NOT_BEGUN = {types.INVALID_REQUEST, types.METHOD_NOT_FOUND, types.INVALID_PARAMS}
_Context = ServerRequestContext[Any]


class NotOffered(KeyturnError):
    """The server behind does not offer the tool, as it was shown, now."""


class ToolFailed(NothingDone):
    """The server behind answered that the tool failed: `result`."""

    def __init__(self, result: types.CallToolResult) -> None:
        super().__init__("the tool failed")
        self.result = result


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """`wait` for people and `timeout` for the server behind, in seconds."""

    prefix: str = ""
    subject: str | None = None
    reviewed_only: bool = True
    wait: float = LONGEST
    timeout: float = 240


@dataclass(frozen=True, slots=True)
class Gateway:
    """One server behind, and the Keyturn that is asked about its tools."""

    upstream: McpClient
    client: AsyncClient
    options: Options
    _begun: set[anyio.CancelScope] = field(default_factory=set, init=False)
    _stopped: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    async def call(
        self, context: _Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """The handler of `tools/call`."""
        if self._stopped.is_set():  # an agent that tries again would keep it running
            return _failed(f"Not done. {STOPPED}")
        with anyio.CancelScope() as mine:
            self._begun.add(mine)
            try:
                return await self._answer(context, params)
            finally:
                self._begun.discard(mine)
        return _failed(f"Not done. {STOPPED}")

    async def stop(self) -> None:
        """Take back what waits for people, and see what was begun to its end."""
        self._stopped.set()
        for one in self._begun:
            one.cancel()
        while self._begun:
            await anyio.sleep(A_MOMENT)

    async def _answer(
        self, context: _Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """Whatever is no result is an error in words."""
        try:
            return await self._call(context, params.name, params.arguments or {})
        except ToolFailed as failed:
            return failed.result
        except KeyturnError as no:
            return _failed(_why(no))
        except Exception as lost:
            log.warning("what came of %s is not known", params.name, exc_info=lost)
            return _failed(UNKNOWN)

    async def _call(
        self, context: _Context, name: str, arguments: dict[str, Any]
    ) -> types.CallToolResult:
        shown = await self._offered(name)
        ask = Ask(
            tool=self.options.prefix + name,
            arguments=arguments,
            reviewed_only=self.options.reviewed_only,
        )
        asked = calls.request_approval(ask, subject=self.options.subject)
        with anyio.CancelScope(shield=True):  # a question that was put is known here
            approval = await self.client.drive(
                send(self.client, asked, patience=ASKING)
            )
        try:
            if approval.mode != "agent":
                raise NotOffered(OTHERS)
            return await self._follow(context, approval, shown)
        except (NotOffered, Paused, ChangesRequested, asyncio.CancelledError) as why:
            reason = _why(why) if isinstance(why, KeyturnError) else LEFT
            left = give_up(self.client, approval, reason=reason[:2000])
            with anyio.CancelScope(shield=True):
                await self.client.drive(left)
            raise

    async def _follow(
        self, context: _Context, approval: Approval, shown: types.Tool
    ) -> types.CallToolResult:
        """Wait, and act. A caller who leaves while it waits lets nothing happen; from
        the moment the approval is used, what came of it is found out and reported."""
        begun = self.client.now()
        desk = Desk(self.client, context.session.report_progress)
        while True:
            gone = self.client.now() - begun
            left = max(0.0, self.options.wait - gone)
            found = await wait_for(desk, approval.id, left)
            if found.next == "wait":
                raise Paused(found)
            if await self._offered(shown.name) != shown:
                raise NotOffered(NOT_OFFERED)
            gone = self.client.now() - begun
            act = self._action(context, approval, shown.name, gone)
            acting = follow_and_end(self.client, approval, act, timeout=LOOK)
            with anyio.CancelScope(shield=True):
                try:
                    return await self.client.drive(acting)
                except Unreported as done:
                    log.exception("the outcome of %s could not be reported", shown.name)
                    result: types.CallToolResult = done.result
                    return result
                except Paused as delayed:
                    gone = self.client.now() - begun
                    if gone >= self.options.wait:
                        raise
                    await desk.progress(gone, self.options.wait, str(delayed))

    def _action(
        self, context: _Context, approval: Approval, name: str, waited: float
    ) -> Action[types.CallToolResult]:
        async def go_on(
            progress: float, total: float | None, message: str | None
        ) -> None:  # it never goes back, nor does the time that was waited
            await context.session.report_progress(waited + progress, None, message)

        async def act(**approved: Any) -> types.CallToolResult:
            told: Any = {KEY: current_effect().idempotency_key}
            call = types.CallToolRequestParams(
                name=name, arguments=approved, _meta=told
            )
            try:
                # Not `call_tool`, which may send a second time.
                result = await self.upstream.session.send_request(
                    types.CallToolRequest(params=call),
                    types.CallToolResult,
                    request_read_timeout_seconds=self.options.timeout,
                    progress_callback=go_on,
                )
            except MCPError as error:
                if error.code in _NOT_BEGUN:
                    raise NothingDone(f"the server behind refused: {error}") from error
                raise
            if not exact.same(approved, approval.arguments):
                result.content.insert(0, _edited(approved))
            if result.is_error:
                raise ToolFailed(result)
            return result

        return Action(function=act, tool=approval.tool)

    async def _offered(self, name: str) -> types.Tool:
        """The tool as it is shown now. Raises `NotOffered`."""
        cursor = None
        try:
            for _ in range(MOST_PAGES):
                page = types.PaginatedRequestParams(cursor=cursor)
                listed = await self.upstream.session.list_tools(params=page)
                found = [one for one in listed.tools if one.name == name]
                cursor = listed.next_cursor
                if found or cursor is None:
                    break
        except Exception as error:  # whatever it says instead: nothing was sent yet
            raise NotOffered(NOT_OFFERED) from error
        if len(found) != 1:
            raise NotOffered(NOT_OFFERED)
        return found[0]


def _why(no: KeyturnError) -> str:
    if isinstance(no, Answered):
        return f"Not done. A reviewer answers instead: {no.response}"
    if isinstance(no, ChangesRequested):
        return f"Not done. {ASK_AGAIN}{no.approval.reason}"
    if isinstance(no, NotApproved):
        return refused(no.approval)
    if isinstance(no, Paused):
        return f"Not done. {UNANSWERED}"
    if isinstance(no, InDoubt):
        return UNKNOWN
    if isinstance(no, NotOffered):
        return f"Not sent on. {no}"
    if isinstance(no, Unreachable):
        return f"Not done: Keyturn cannot be reached ({no})"
    if isinstance(no, Refused):
        return f"Not done ({no.code}): {no.detail}"
    return f"Not done: {no}"


def _failed(text: str) -> types.CallToolResult:
    content = types.TextContent(type="text", text=text)
    return types.CallToolResult(content=[content], is_error=True)


def _edited(approved: dict[str, Any]) -> types.TextContent:
    changed = exact.encode(approved, in_order=True).decode()
    text = f"A reviewer changed the arguments to {changed}."
    return types.TextContent(type="text", text=text)
