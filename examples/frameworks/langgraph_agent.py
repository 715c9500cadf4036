"""A LangGraph graph whose thread is kept in Keyturn, and whose interrupt people answer.

python -m examples.frameworks.langgraph_agent TASK-1 /tmp/ledger
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import interrupt

from examples.frameworks.payments import Bank, options, say, say_paused
from keyturn import Client, Paused, Run
from keyturn.approved import as_approved
from keyturn.interrupts import invoke, resume
from keyturn.langgraph import KeyturnSaver


class State(TypedDict):
    payment: dict[str, str]
    told: str


def ask(state: State) -> dict[str, Any]:
    """Ask about the payment; go on with what was approved."""
    action = {"name": "send_payment", "args": state["payment"]}
    allowed = ["approve", "edit", "reject"]
    review = {"action_name": "send_payment", "allowed_decisions": allowed}
    answer = interrupt({"action_requests": [action], "review_configs": [review]})
    (decision,) = answer["decisions"]
    if decision["type"] == "reject":
        return {"told": decision["message"]}
    edited = decision.get("edited_action", action)
    return {"payment": edited["args"]}


def built(saver: KeyturnSaver, ledger: Path) -> CompiledStateGraph[State]:
    send_payment = as_approved(tool="send_payment")(Bank(ledger).send_payment)
    graph = StateGraph(State)
    graph.add_node("ask", ask)
    graph.add_node("pay", lambda state: {"told": send_payment(**state["payment"])})
    graph.add_edge(START, "ask")
    graph.add_conditional_edges("ask", lambda state: END if state["told"] else "pay")
    return graph.compile(checkpointer=saver)


def work(run: Run, graph: CompiledStateGraph[State], config: RunnableConfig) -> str:
    """Go on from wherever the thread is."""
    payment = {"payee": "Halden Paper", "amount": "1240.00"}
    found = invoke(graph, {"payment": payment, "told": ""}, config)
    while asked := found.get("__interrupt__"):
        command = run.drive(resume(run, asked, timeout=0))
        found = graph.invoke(command, config)
    return str(found["told"])


def main() -> None:
    given = options()
    config: RunnableConfig = {"configurable": {"thread_id": given.task}}
    with Client() as client, client.run(given.task, subject="Halden Paper") as run:
        if run.is_ended:
            return say(f"Done before: {run.document.result}")
        graph = built(KeyturnSaver(client, subject="Halden Paper"), given.ledger)
        try:
            told = work(run, graph, config)
        except Paused as paused:
            return say_paused(paused)
        run.complete(told)
    say(told)


if __name__ == "__main__":
    main()
