"""Anthropic's Agent SDK: permissions that people give, and transcripts kept in Keyturn.

    permissions = Permissions(client, session="TASK-7")
    options = ClaudeAgentOptions(
        can_use_tool=permissions.can_use_tool,
        hooks={"PreToolUse": [
            HookMatcher(hooks=[permissions.pre_tool_use], on_failure="block")
        ]},
        session_store=KeyturnStore(client, subject="customer-7"),
    )

What is approved here, and confirmed, is that the permission was handed over once: what
the agent then did with it is not seen.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from claude_agent_sdk import (
    PermissionResult,
    PermissionResultAllow,
    PermissionResultDeny,
    ToolPermissionContext,
)
from claude_agent_sdk.types import (
    HookContext,
    HookJSONOutput,
    SessionKey,
    SessionStoreEntry,
)

from keyturn import calls, exact
from keyturn.acting import Action, follow_and_end
from keyturn.asks import Ask, Risk
from keyturn.client import AsyncClient
from keyturn.errors import Answered, DoneAlready, KeyturnError, NotNow, Paused
from keyturn.flows import Flow
from keyturn.histories import Histories
from keyturn.tool_calls import refused

log = logging.getLogger("keyturn")

Json = dict[str, Any]
WITHDRAWN = "The agent no longer waits for this permission."


class Permissions:
    """Who may let a tool run: people. `session` names the agent's conversation.

    Prompts that come at once wait beside each other. No answer in `timeout` seconds,
    and every error, is no permission. What the agent suggests to allow from now on is
    never allowed by itself.
    """

    def __init__(
        self,
        client: AsyncClient,
        *,
        session: str,
        subject: str | None = None,
        risk: Risk | None = None,
        timeout: float | None = None,
        interrupts: bool = False,
    ) -> None:
        self._client = client
        self._session = session
        self._subject = subject
        self._risk = risk
        self._timeout = timeout
        self._interrupts = interrupts

    async def can_use_tool(
        self, name: str, given: Json, context: ToolPermissionContext
    ) -> PermissionResult:
        """For `ClaudeAgentOptions.can_use_tool`. With `interrupts` a no ends the turn."""
        said = [context.title or context.decision_reason or ""]
        said += [f"Asked by sub-agent {context.agent_id}."] * bool(context.agent_id)
        try:
            allowed = await self._permitted(
                name, given, str(context.tool_use_id), " ".join(said).strip()
            )
        except Exception as no:
            return PermissionResultDeny(
                message=_why(no), interrupt=self._interrupts and not _is_answer(no)
            )
        return PermissionResultAllow(updated_input=allowed)

    async def pre_tool_use(
        self, hook: Mapping[str, Any], tool_use_id: str | None, context: HookContext
    ) -> HookJSONOutput:
        """For `HookMatcher`: it is asked also where a rule would allow the tool.

        While nobody has answered the call is deferred: the run ends, and finds the
        answer when it is resumed.
        """
        try:
            call = tool_use_id or str(hook["tool_use_id"])
            allowed = await self._permitted(
                hook["tool_name"], hook["tool_input"], call, ""
            )
        except Paused as paused:
            return _output("defer", permissionDecisionReason=str(paused))
        except Exception as no:  # raised, it would count as no opinion
            return _output("deny", permissionDecisionReason=_why(no))
        return _output("allow", updatedInput=allowed)

    async def _permitted(
        self, name: str, given: Json, tool_use_id: str, explanation: str
    ) -> Json:
        """The arguments to run with. A prompt that is taken back takes it back."""
        ask = Ask(
            tool=name,
            arguments=given,
            explanation=explanation,
            tool_call_id=tool_use_id,
            risk=self._risk,
        )
        key = calls.key_from("permission", self._session, name, tool_use_id)
        asked = await self._client.request_approval(ask, subject=self._subject, key=key)
        action: Action[Json] = Action(function=lambda **arguments: arguments)
        try:
            return await self._client.drive(
                follow_and_end(self._client, asked, action, timeout=self._timeout)
            )
        except asyncio.CancelledError:
            await asyncio.shield(self._withdraw(asked.id))
            raise

    async def _withdraw(self, approval: str) -> None:
        try:
            await self._client.withdraw_approval(approval, reason=WITHDRAWN)
        except KeyturnError as error:
            log.warning("%s could not be taken back: %s", approval, error)


def _is_answer(no: Exception) -> bool:
    return isinstance(no, Answered)


def _why(no: Exception) -> str:
    if isinstance(no, Answered):
        return f"A reviewer answers: {no.response}"
    if isinstance(no, DoneAlready):  # it is the permission that was confirmed
        return f"{no.approval.tool} was permitted before; look whether it happened"
    if isinstance(no, NotNow) and no.approval.next == "stop":
        return refused(no.approval)
    if not isinstance(no, KeyturnError):
        log.error("nobody could be asked", exc_info=no)
    return str(no)


def _output(decision: str, **more: Any) -> HookJSONOutput:
    specific: Any = {"hookEventName": "PreToolUse", "permissionDecision": decision}
    return {"hookSpecificOutput": specific | more}


# -- Transcripts ------------------------------------------------------------------------


class KeyturnStore:
    """A `SessionStore`: each conversation, with its sub-agents', is a session."""

    def __init__(
        self, client: AsyncClient, *, subject: str, prefix: str = "claude"
    ) -> None:
        self._client = client
        self._prefix = prefix
        self._histories = Histories(client, subject)

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        """Add a batch. One that is sent again is added once."""
        if not entries:
            return
        items = [{"subpath": key.get("subpath"), "entry": one} for one in entries]
        name = self._name(key)
        await self._client.drive(
            self._histories.append(name, items, key=_once(name, items))
        )

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        """All entries, each `uuid` once; None where nothing was written."""
        found = await self._items(key)
        entries: dict[Any, SessionStoreEntry] = {}
        for place, one in enumerate(found):
            if one["subpath"] == key.get("subpath"):
                entries.setdefault(one["entry"].get("uuid", place), one["entry"])
        return list(entries.values()) or None

    async def delete(self, key: SessionKey) -> None:
        """Take a conversation back, or one sub-agent's part of it."""
        await self._client.drive(self._delete(self._name(key), key.get("subpath")))

    async def list_subkeys(self, key: Mapping[str, str]) -> list[str]:
        """Whose parts there are, besides the conversation itself."""
        found = await self._items(key)
        return list(dict.fromkeys(one["subpath"] for one in found if one["subpath"]))

    def _delete(self, name: str, subpath: str | None) -> Flow[None]:
        if subpath is None:
            yield from self._histories.clear(name)
            return
        found = yield from self._histories.items(name)
        kept = [one.data for one in found if one.data["subpath"] != subpath]
        if len(kept) < len(found):
            last = found[-1].position
            yield from self._histories.replace(name, kept, last=last)

    async def _items(self, key: Mapping[str, Any]) -> list[Json]:
        found = await self._client.drive(self._histories.items(self._name(key)))
        return [one.data for one in found]

    def _name(self, key: Mapping[str, Any]) -> str:
        """Paths may be longer than a name: their digest stands for them."""
        project = sha256(key["project_key"].encode()).hexdigest()[:32]
        return f"{self._prefix}/{project}/{key['session_id']}"


def _once(name: str, items: Sequence[Json]) -> str | None:
    """The key of a batch; entries without a `uuid` may be said twice and meant twice."""
    if not all(one["entry"].get("uuid") for one in items):
        return None
    return sha256(exact.encode([name, list(items)])).hexdigest()
