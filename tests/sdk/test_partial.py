"""Four calls at once, decided one after the other and each otherwise: in earnest.

What one framework's adapter must do with them, every one must.
"""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import keyturn
from keyturn.interrupts import resume
from keyturn.langchain import invoke
from tests.sdk import (
    test_interrupts,
    test_langchain,
    test_loops,
    test_openai_agents,
    test_pydantic_ai,
)
from tests.sdk.worlds import Real

CALLS = [
    (f"call_{n}", {"payee": "Halden Paper", "amount": f"{n}.00"}) for n in range(1, 5)
]
type Told = dict[str, str]
"""What the model was told of each call."""


class _Later:
    """Those that pause with `Paused` once the model has asked, and then only end."""

    begun = False

    def answers(self, asking: Any, ending: Any) -> list[Any]:
        begun, self.begun = self.begun, True
        return [ending] if begun else [asking]


class OfLoops(_Later):
    """Anthropic's loop."""

    def __init__(self) -> None:
        self.bank = test_loops.Bank()

    @property
    def paid(self) -> list[str]:
        return [one["amount"] for one in self.bank.paid]

    def go(self, real: Real) -> Told:
        asking = test_loops.uses(*((id, "pay", given) for id, given in CALLS))
        model = test_loops.Scripted(*self.answers(asking, test_loops.says("Done.")))
        with real.client() as client, test_loops.opened(client) as run:
            messages = test_loops.talk(run, model, self.bank, timeout=0)
            run.complete()
        results = test_loops.told(messages)
        return {one["tool_use_id"]: one["content"] for one in results}


class OfOpenAI(_Later):
    def __init__(self) -> None:
        self.bank = test_openai_agents.Bank()

    @property
    def paid(self) -> list[str]:
        return self.bank.paid

    def go(self, real: Real) -> Told:
        asking = [test_openai_agents.call(id, "pay", **given) for id, given in CALLS]
        said = self.answers(asking, test_openai_agents.says("Done."))
        agent = self.bank.agent(*said)
        asyncio.run(test_openai_agents.agreed(real, agent, timeout=0))
        return test_openai_agents.outputs(agent)


class OfPydantic(_Later):
    def __init__(self) -> None:
        self.bank = test_pydantic_ai.Bank()

    @property
    def paid(self) -> list[str]:
        return self.bank.paid

    def go(self, real: Real) -> Told:
        asking = [test_pydantic_ai.call(id, "pay", given) for id, given in CALLS]
        said = self.answers(asking, "Done.")
        test_pydantic_ai.agreed(real, self.bank, *said, timeout=0)
        return self.bank.told


class OfLangChain(_Later):
    def __init__(self) -> None:
        self.bank = test_langchain.Bank()

    @property
    def paid(self) -> list[str]:
        return self.bank.paid

    def go(self, real: Real) -> Told:
        asking = [test_langchain.call(id, "pay", **given) for id, given in CALLS]
        said = self.answers(asking, "Done.")
        with real.client() as client, client.run("TASK-1", subject="customer-7"):
            agent = self.bank.agent(*said, timeout=0)
            found = invoke(agent, test_langchain.START, test_langchain.CONFIG)
        told = test_langchain.told(found["messages"])
        return {id: text for id, (_, text) in told.items()}


class OfLangGraph:
    """Interrupts: the graph acts on each answer as it may."""

    def __init__(self) -> None:
        self.bank = test_interrupts.Bank()

    @property
    def paid(self) -> list[str]:
        return self.bank.paid

    def go(self, real: Real) -> Told:
        requests = [{"name": "pay", "args": given} for _, given in CALLS]
        config = {
            "action_name": "pay",
            "allowed_decisions": test_interrupts.EVERYTHING,
        }
        asked = {"action_requests": requests, "review_configs": [config]}
        interrupt = test_interrupts.Interrupt(value=asked, id="i1")
        with real.client() as client, test_interrupts.opened(client) as run:
            answers = run.drive(resume(run, [interrupt], timeout=0)).resume
            decided = zip(CALLS, answers["i1"]["decisions"], strict=True)
            return {id: self.act(given, one) for (id, given), one in decided}

    def act(self, given: dict[str, Any], decision: dict[str, Any]) -> str:
        if decision["type"] == "approve":
            return str(self.bank.pay(**given))
        return str(decision["message"])


FRAMEWORKS: list[Callable[[], Any]] = [
    OfLoops,
    OfOpenAI,
    OfPydantic,
    OfLangChain,
    OfLangGraph,
]


@pytest.mark.parametrize("kind", FRAMEWORKS, ids=lambda kind: kind.__name__)
def test_each_call_has_the_answer_that_people_gave_it(
    real: Real, kind: Callable[[], Any]
) -> None:
    framework = kind()
    with pytest.raises(keyturn.Paused):
        framework.go(real)
    pending = real.api.get("approvals", status="pending").json()["items"]
    by_amount = {one["arguments"]["amount"]: one for one in pending}
    real.decide(by_amount["3.00"], "approve")
    with pytest.raises(keyturn.Paused):
        framework.go(real)
    real.decide(by_amount["1.00"], "reject", reason="Not them")
    real.decide(by_amount["4.00"], "respond", response="By hand.")
    assert framework.paid == []
    real.decide(by_amount["2.00"], "approve")
    told = framework.go(real)
    assert sorted(framework.paid) == ["2.00", "3.00"]  # some frameworks act at once
    assert told["call_1"].endswith("Not them")
    assert told["call_4"].endswith("By hand.")
    assert sorted([told["call_2"], told["call_3"]]) == ["PAY-1", "PAY-2"]
    assert sorted(real.effects()) == [
        ("pay", "confirmed", "PAY-1"),
        ("pay", "confirmed", "PAY-2"),
    ]
    assert real.questions() == 4
