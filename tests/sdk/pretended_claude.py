"""What the Agent SDK talks to, without the program: it asks, and does as it is told."""

import json
from collections.abc import AsyncIterator
from typing import Any

import anyio
from claude_agent_sdk import Transport

RESULT = {
    "type": "result",
    "subtype": "success",
    "duration_ms": 1,
    "duration_api_ms": 1,
    "is_error": False,
    "num_turns": 1,
    "session_id": "s",
    "result": "Done.",
}


class PretendedClaude(Transport):
    """Sends `asks` once it was prompted, and ends when each has its `answers`."""

    def __init__(self, *asks: dict[str, Any]) -> None:
        self.asks = asks
        self.answers: dict[str, Any] = {}
        self.hooks: Any = None
        self._send, self._receive = anyio.create_memory_object_stream[Any](100)

    async def connect(self) -> None:
        pass

    async def write(self, data: str) -> None:
        for line in data.splitlines():
            await self._take(json.loads(line))

    async def _take(self, message: dict[str, Any]) -> None:
        if message["type"] == "control_request":
            self.hooks = message["request"].get("hooks")
            told = {"subtype": "success", "request_id": message["request_id"]}
            response = {**told, "response": {"hook_on_failure_supported": True}}
            await self._send.send({"type": "control_response", "response": response})
        elif message["type"] == "user":
            for number, ask in enumerate(self.asks):
                await self._send.send(
                    {
                        "type": "control_request",
                        "request_id": str(number),
                        "request": ask,
                    }
                )
        elif message["type"] == "control_response":
            told = message["response"]
            self.answers[told["request_id"]] = told.get("response", told)
            if len(self.answers) == len(self.asks):
                await self._send.send(RESULT)
                self._send.close()

    async def read_messages(self) -> AsyncIterator[dict[str, Any]]:
        async with self._receive:
            async for message in self._receive:
                yield message

    async def close(self) -> None:
        self._send.close()

    def is_ready(self) -> bool:
        return True

    async def end_input(self) -> None:
        pass


def asks_for(name: str, given: dict[str, Any], *, call: str) -> dict[str, Any]:
    """A permission prompt, as the program sends it."""
    return {
        "subtype": "can_use_tool",
        "tool_name": name,
        "input": given,
        "tool_use_id": call,
        "permission_suggestions": [],
    }


def hook_for(name: str, given: dict[str, Any], *, call: str) -> dict[str, Any]:
    """The first hook's call, as the program sends it."""
    hook = {"tool_name": name, "tool_input": given, "tool_use_id": call}
    return {
        "subtype": "hook_callback",
        "callback_id": "hook_0",
        "input": {"hook_event_name": "PreToolUse", **hook},
        "tool_use_id": call,
    }
