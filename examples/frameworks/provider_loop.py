"""A loop around the Messages API without any framework.

    python -m examples.frameworks.provider_loop TASK-1 /tmp/ledger

`model` stands for the call to the provider, so that this runs without a key for one;
`anthropic.Anthropic().messages.create(...)` goes in its place.
"""

from __future__ import annotations

from typing import Any

from examples.frameworks.payments import Bank, options, say, say_paused
from keyturn import Client, Paused
from keyturn.loops import anthropic_messages
from keyturn.tool_calls import Tool

START = [{"role": "user", "content": "Pay Halden Paper what we owe them."}]
CALL = {
    "type": "tool_use",
    "id": "toolu_1",
    "name": "send_payment",
    "input": {"payee": "Halden Paper", "amount": "1240.00"},
}


def model(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Calls the tool, then repeats what came of it."""
    if len(messages) == 1:
        return {"role": "assistant", "content": [CALL]}
    told = messages[-1]["content"][0]["content"]
    return {"role": "assistant", "content": [{"type": "text", "text": told}]}


def main() -> None:
    given = options()
    tools = [Tool(name="send_payment", function=Bank(given.ledger).send_payment)]
    with Client() as client, client.run(given.task, subject="Halden Paper") as run:
        if run.is_ended:
            return say(f"Done before: {run.document.result}")
        try:
            messages = run.drive(
                anthropic_messages(run, model, tools, START, timeout=0)
            )
        except Paused as paused:
            return say_paused(paused)
        told: str = messages[-1]["content"][0]["text"]
        run.complete(told)
    say(told)


if __name__ == "__main__":
    main()
