"""An agent of OpenAI's Agents SDK, whose tool people approve.

    python -m examples.frameworks.openai_agent TASK-1 /tmp/ledger

`Clerk` stands for a model, so that this runs without a key for one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from agents import Agent, Model, ModelResponse, Usage, set_tracing_disabled
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from examples.frameworks.payments import Bank, options, say, say_paused
from keyturn import AsyncClient, Paused
from keyturn.openai_agents import KeyturnSession, approved_tool, run_agent

CALL = ResponseFunctionToolCall(
    type="function_call",
    call_id="call_1",
    name="send_payment",
    arguments='{"payee": "Halden Paper", "amount": "1240.00"}',
)


class Clerk(Model):
    """Calls the tool, then repeats what came of it."""

    async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
        last = args[1][-1] if args else kwargs["input"][-1]
        said = _message(last["output"]) if "output" in last else CALL
        return ModelResponse(output=[said], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


def _message(text: str) -> ResponseOutputMessage:
    content = ResponseOutputText(type="output_text", text=text, annotations=[])
    return ResponseOutputMessage(
        id="m", type="message", role="assistant", status="completed", content=[content]
    )


def built(ledger: Path) -> Agent[Any]:
    pay = approved_tool(name="send_payment")(Bank(ledger).send_payment)
    return Agent(name="Clerk", model=Clerk(), tools=[pay])


async def work(task: str, ledger: Path) -> str | None:
    async with (
        AsyncClient() as client,
        client.run(task, subject="Halden Paper") as run,
    ):
        if run.is_ended:
            return f"Done before: {run.document.result}"
        session = KeyturnSession(client, f"{task}/chat", subject="Halden Paper")
        start = "Pay Halden Paper what we owe them."
        try:
            result = await run_agent(
                run, built(ledger), start, session=session, timeout=0
            )
        except Paused as paused:
            say_paused(paused)
            return None
        await run.complete(result.final_output)
        return str(result.final_output)


def main() -> None:
    given = options()
    set_tracing_disabled(True)
    told = asyncio.run(work(given.task, given.ledger))
    if told is not None:
        say(told)


if __name__ == "__main__":
    main()
