"""An agent of Pydantic AI, whose deferred tool people approve.

    python -m examples.frameworks.pydantic_agent TASK-1 /tmp/ledger

`clerk` stands for a model, so that this runs without a key for one.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from pydantic_ai import Agent, DeferredToolRequests
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from examples.frameworks.payments import Bank, options, say, say_paused
from keyturn import AsyncClient, Paused
from keyturn.pydantic_ai import approved_tool, run_agent

CALL = ToolCallPart(
    tool_name="send_payment",
    args={"payee": "Halden Paper", "amount": "1240.00"},
    tool_call_id="call_1",
)


def clerk(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Calls the tool, then repeats what came of it."""
    last = messages[-1].parts[-1]
    if isinstance(last, ToolReturnPart):
        return ModelResponse(parts=[TextPart(str(last.content))])
    return ModelResponse(parts=[CALL])


async def work(task: str, ledger: Path) -> str | None:
    pay = approved_tool(name="send_payment")(Bank(ledger).send_payment)
    agent: Agent[None, Any] = Agent(
        FunctionModel(clerk), tools=[pay], output_type=[str, DeferredToolRequests]
    )
    async with (
        AsyncClient() as client,
        client.run(task, subject="Halden Paper") as run,
    ):
        if run.is_ended:
            return f"Done before: {run.document.result}"
        try:
            result = await run_agent(run, agent, "Pay.", tools=[pay], timeout=0)
        except Paused as paused:
            say_paused(paused)
            return None
        await run.complete(result.output)
        return str(result.output)


def main() -> None:
    given = options()
    told = asyncio.run(work(given.task, given.ledger))
    if told is not None:
        say(told)


if __name__ == "__main__":
    main()
