"""An agent of LangChain's, whose tool people approve and whose thread is in Keyturn.

    python -m examples.frameworks.langchain_agent TASK-1 /tmp/ledger

`Clerk` stands for a model, so that this runs without a key for one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import StructuredTool

from examples.frameworks.payments import Bank, options, say, say_paused
from keyturn import Client, Paused
from keyturn.langchain import Gated, KeyturnMiddleware, invoke
from keyturn.langgraph import KeyturnSaver

START = {"messages": [{"role": "user", "content": "Pay what we owe them."}]}
CALL = {
    "id": "call_1",
    "name": "send_payment",
    "args": {"payee": "Halden Paper", "amount": "1240.00"},
}


class Clerk(BaseChatModel):
    """Calls the tool, then repeats what came of it."""

    @property
    def _llm_type(self) -> str:
        return "clerk"

    def bind_tools(self, tools: Any, **more: Any) -> Any:
        return self

    def _generate(self, messages: Any, *args: Any, **more: Any) -> ChatResult:
        last = messages[-1]
        said = (
            AIMessage(str(last.content))
            if isinstance(last, ToolMessage)
            else AIMessage("", tool_calls=[CALL])
        )
        return ChatResult(generations=[ChatGeneration(message=said)])


def built(client: Client, ledger: Path) -> Any:
    pay = StructuredTool.from_function(Bank(ledger).send_payment)
    gate = KeyturnMiddleware({"send_payment": Gated(risk="high")}, timeout=0)
    saver = KeyturnSaver(client, subject="Halden Paper")
    return create_agent(Clerk(), [pay], middleware=[gate], checkpointer=saver)


def main() -> None:
    given = options()
    config: RunnableConfig = {"configurable": {"thread_id": given.task}}
    with Client() as client, client.run(given.task, subject="Halden Paper") as run:
        if run.is_ended:
            return say(f"Done before: {run.document.result}")
        try:
            found = invoke(built(client, given.ledger), START, config)
        except Paused as paused:
            return say_paused(paused)
        told = str(found["messages"][-1].content)
        run.complete(told)
    say(told)


if __name__ == "__main__":
    main()
