"""An agent of Anthropic's Agent SDK, whose tool people let run.

    python -m examples.frameworks.claude_agent TASK-1 /tmp/ledger

`Clerk` stands for the program that the SDK starts, and for the model behind it, so that
this runs without either. While nobody has answered, the hook defers the call and the run
ends; started again, it is asked again and finds the answer.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from claude_agent_sdk import (
    ClaudeAgentOptions,
    ClaudeSDKClient,
    HookMatcher,
    ResultMessage,
    Transport,
    create_sdk_mcp_server,
    tool,
)

from examples.frameworks.payments import Bank, options, say
from keyturn import AsyncClient
from keyturn.claude_agent import Permissions

NAME = "mcp__bank__send_payment"
PAYMENT = {"payee": "Halden Paper", "amount": "1240.00"}
CALL = {"tool_name": NAME, "tool_input": PAYMENT, "tool_use_id": "toolu_1"}
ENDED = {
    "type": "result",
    "subtype": "success",
    "duration_ms": 1,
    "duration_api_ms": 1,
    "is_error": False,
    "num_turns": 1,
    "session_id": "s",
}


def calling(name: str, arguments: dict[str, Any]) -> list[dict[str, Any]]:
    """What is sent to the agent's own tools, one after the other."""
    about = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "clerk", "version": "1"},
    }
    what = {"name": name, "arguments": arguments}
    return [
        {"id": 1, "method": "initialize", "params": about},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": what},
    ]


class Clerk(Transport):
    """Asks the hook about one call, runs it if it may, and repeats what came of it."""

    def __init__(self) -> None:
        self._said: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._rpcs: list[dict[str, Any]] = []

    async def write(self, data: str) -> None:
        for line in data.splitlines():
            self._take(json.loads(line))

    def _take(self, message: dict[str, Any]) -> None:
        if message["type"] == "control_request":
            told = {"subtype": "success", "request_id": message["request_id"]}
            able = {"response": {"hook_on_failure_supported": True}}
            self._said.put_nowait({"type": "control_response", "response": told | able})
        elif message["type"] == "user":
            hook = {"hook_event_name": "PreToolUse", **CALL}
            self._ask("hook_callback", callback_id="hook_0", input=hook)
        elif "hookSpecificOutput" in message["response"]["response"]:
            self._go_on(message["response"]["response"]["hookSpecificOutput"])
        elif self._rpcs:
            self._call_next()
        else:
            result = message["response"]["response"]["mcp_response"]["result"]
            self._end(result["content"][0]["text"])

    def _go_on(self, decided: dict[str, Any]) -> None:
        if decided["permissionDecision"] == "allow":
            self._rpcs = calling("send_payment", decided["updatedInput"])
            self._call_next()
            return
        deferred = {"id": "toolu_1", "name": NAME, "input": PAYMENT}
        is_deferred = decided["permissionDecision"] == "defer"
        more = {"deferred_tool_use": deferred} if is_deferred else {}
        self._end(decided["permissionDecisionReason"], **more)

    def _call_next(self) -> None:
        rpc = {"jsonrpc": "2.0", **self._rpcs.pop(0)}
        self._ask("mcp_message", server_name="bank", message=rpc)

    def _ask(self, kind: str, **said: Any) -> None:
        request = {"subtype": kind, "tool_use_id": "toolu_1", **said}
        id = f"{kind}-{len(self._rpcs)}"
        asked = {"type": "control_request", "request_id": id, "request": request}
        self._said.put_nowait(asked)

    def _end(self, text: str, **more: Any) -> None:
        self._said.put_nowait({**ENDED, "result": text, **more})
        self._said.put_nowait(None)

    async def read_messages(self) -> AsyncIterator[dict[str, Any]]:
        while (message := await self._said.get()) is not None:
            yield message

    async def connect(self) -> None: ...
    async def close(self) -> None: ...
    async def end_input(self) -> None: ...
    def is_ready(self) -> bool:
        return True


def built(permissions: Permissions, task: str, ledger: Path) -> ClaudeAgentOptions:
    @tool("send_payment", "Pay somebody.", {"payee": str, "amount": str})
    async def send_payment(given: dict[str, Any]) -> dict[str, Any]:
        paid = Bank(ledger).pay(given["payee"], given["amount"], key=task)
        return {"content": [{"type": "text", "text": paid}]}

    asking = HookMatcher(
        hooks=[permissions.pre_tool_use], timeout=700, on_failure="block"
    )
    return ClaudeAgentOptions(
        mcp_servers={"bank": create_sdk_mcp_server("bank", tools=[send_payment])},
        hooks={"PreToolUse": [asking]},
    )


async def work(task: str, ledger: Path) -> str:
    async with AsyncClient() as client:
        permissions = Permissions(
            client, session=task, subject="Halden Paper", timeout=0
        )
        given = built(permissions, task, ledger)
        async with ClaudeSDKClient(given, transport=Clerk()) as agent:
            await agent.query("Pay what we owe them.")
            async for message in agent.receive_response():
                if isinstance(message, ResultMessage):
                    return _told(message)
    raise RuntimeError("it said nothing")


def _told(result: ResultMessage) -> str:
    if result.deferred_tool_use is None:
        return str(result.result)
    return (
        f"A person is asked: {result.result}\nStart this again once there is an answer."
    )


def main() -> None:
    given = options()
    say(asyncio.run(work(given.task, given.ledger)))


if __name__ == "__main__":
    main()
