"""The whole story with a real agent, on real processes, and with accidents.

What is asserted is what happened outside (effects, calls by key), what the run went
through, and what was asked: never only the last line.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.examples.waiting import wait_until
from tests.flows.front import after_each_kind_of_write, at_each_write
from tests.flows.invoice_stage import InvoiceStage, invoice_stage
from tests.installation import Installation

STAGES = [
    "reading",
    "comparing",
    "validating",
    "validated",
    "awaiting_approval",
    "done",
]


@pytest.fixture
def stage(installation: Installation, tmp_path: Path) -> Iterator[InvoiceStage]:
    with invoice_stage(installation, tmp_path) as stage:
        yield stage


@pytest.fixture
def agent_stage(installation: Installation, tmp_path: Path) -> Iterator[InvoiceStage]:
    """Where the agent carries corrections out itself."""
    modes = {"send_correction_request": "agent"}
    with invoice_stage(installation, tmp_path, modes=modes) as stage:
        yield stage


def assert_sent_once(stage: InvoiceStage, line: dict[str, Any]) -> None:
    """One effect, and a run that went through its stages once, in their order."""
    assert (line["state"], line["outcome"]) == ("completed", "sent")
    assert line["external_id"] == "CR-771"
    statistics = stage.corrections.statistics()
    assert statistics["total"] == 1
    assert statistics["by_invoice"] == {"INV-1042": 1}
    (approval,) = stage.approvals()
    assert (approval["status"], approval["next"]) == ("consumed", "done")
    assert approval["effect"]["external_id"] == "CR-771"
    assert set(approval["verification"]["checks"].values()) == {"passed"}
    assert_went_through(stage, STAGES)
    facts = stage.run()["facts"]
    assert facts["correction_sent"]["value"] is True
    assert facts["correction_sent"]["reference"] == f"effect {approval['effect']['id']}"
    assert len(stage.items()) == 9


def assert_went_through(stage: InvoiceStage, stages: list[str]) -> None:
    run = stage.run()
    path = f"runs/{run['id']}/transitions"
    rows = stage.api.get(path, limit=200).json()["items"]
    rows.sort(key=lambda row: row["seq"])
    moved = [row["to_stage"] for row in rows if row["from_stage"] != row["to_stage"]]
    assert moved == stages


def test_a_correction_is_approved_and_sent_once(stage: InvoiceStage) -> None:
    agent = stage.start_agent("INV-1042")
    approval = stage.pending()
    assert approval["title"].startswith("Send a correction request to Halden Paper")
    assert approval["target"] == "billing@haldenpaper.example"
    assert approval["arguments"]["amount_delta"] == "-1240.00"
    assert_knows_where_it_is(stage.run(), stage)
    assert stage.corrections.statistics()["calls"] == {}
    stage.decide(approval, "approve")
    assert_sent_once(stage, stage.line_of(agent) or {})
    (sent,) = stage.sent()
    assert sent == approval["arguments"]


def assert_knows_where_it_is(run: dict[str, Any], stage: InvoiceStage) -> None:
    facts = {
        name: (fact["value"], fact["provenance"])
        for name, fact in run["facts"].items()
        if name != "instruction"
    }
    assert facts == {
        "po_matched": (True, "tool"),
        "lines_compared": (3, "tool"),
        "lines_differing": (1, "tool"),
        "ordered_total": ("7310.00", "tool"),
        "invoiced_total": ("8550.00", "tool"),
        "validation_status": ("passed", "tool"),
        "correction_sent": (False, "tool"),
        "supplier_agrees": ("probably", "model"),
    }
    assert run["facts"]["instruction"]["provenance"] == "user"
    header = stage.api.get(f"runs/{run['id']}/checkpoints/head").json()["header"]
    assert header["completed"] == ["read", "compare", "validate", "pause"]
    assert header["pending"] == ["act", "finish"]
    assert header["markers"]["validation_status"] == "passed"


def test_a_duplicate_is_held_by_the_agent(stage: InvoiceStage) -> None:
    agent = stage.start_agent("INV-1044")
    approval = stage.pending()
    assert (approval["tool"], approval["mode"]) == ("hold_payment", "agent")
    stage.decide(approval, "approve")
    line = stage.line_of(agent) or {}
    assert (line["outcome"], line["external_id"]) == ("held", "PH-501")
    assert stage.corrections.statistics()["by_invoice"] == {"INV-1044": 1}


def test_what_a_reviewer_changed_is_what_is_sent(stage: InvoiceStage) -> None:
    agent = stage.start_agent("INV-1042")
    approval = stage.pending()
    edited = approval["arguments"] | {"message": "Please correct line 2."}
    stage.decide(approval, "edit", arguments=edited, reason="Shorter.")
    carol = stage.another_reviewer("Carol")
    stage.decide(stage.pending(revision=2), "approve", by=carol)
    assert_sent_once(stage, stage.line_of(agent) or {})
    (sent,) = stage.sent()
    assert sent == edited


@pytest.mark.parametrize(
    ("verdict", "more", "outcome"),
    [
        ("reject", {"reason": "Settled on the phone."}, "not_approved"),
        ("respond", {"response": {"say": "wait for the credit note"}}, "answered"),
    ],
)
def test_without_an_approval_nothing_is_sent(
    stage: InvoiceStage, verdict: str, more: dict[str, Any], outcome: str
) -> None:
    agent = stage.start_agent("INV-1042")
    stage.decide(stage.pending(), verdict, **more)
    line = stage.line_of(agent) or {}
    assert (line["state"], line["outcome"]) == ("completed", outcome)
    assert stage.run()["facts"]["correction_sent"]["value"] is False
    assert stage.corrections.statistics()["calls"] == {}


def test_asked_for_changes_it_says_it_better_and_then_gives_up(
    stage: InvoiceStage,
) -> None:
    agent = stage.start_agent("INV-1042")
    first = stage.pending()
    stage.decide(first, "request_changes", reason="Name the line and both prices.")
    second = stage.pending(revision=2)
    assert "EUR 93.00" in second["arguments"]["message"]
    unchanged = {"message": first["arguments"]["message"]}
    assert second["arguments"] | unchanged == first["arguments"]
    stage.decide(second, "request_changes", reason="Be kinder.")
    line = stage.line_of(agent) or {}
    assert line["outcome"] == "not_approved"
    (approval,) = stage.approvals()
    assert approval["status"] == "cancelled"
    assert stage.corrections.statistics()["calls"] == {}


def test_a_matching_invoice_asks_nobody(stage: InvoiceStage) -> None:
    line = stage.finish("INV-1039")
    assert (line["state"], line["outcome"]) == ("completed", "matches")
    assert stage.approvals() == []
    assert_went_through(stage, [one for one in STAGES if one != "awaiting_approval"])


def test_a_malformed_invoice_fails_its_run_and_says_why(stage: InvoiceStage) -> None:
    assert stage.finish("INV-1046")["state"] == "failed"
    assert "not_xml" in stage.run()["reason"]
    assert stage.approvals() == []


def test_one_wrong_line_of_400_is_asked_about(stage: InvoiceStage) -> None:
    stage.start_agent("INV-1050")
    (line,) = stage.pending()["arguments"]["lines"]
    assert line["line"] == 317
    assert stage.run()["facts"]["lines_compared"]["value"] == 400


def test_a_document_that_changes_meanwhile_stops_the_work(stage: InvoiceStage) -> None:
    stage.front.accident = lambda exchange, when: (
        exchange.name.endswith("/checkpoint/2") and _replace_invoice(stage)
    )
    assert stage.finish("INV-1042")["state"] == "failed"
    assert "changed" in stage.run()["reason"]
    assert stage.approvals() == []


def _replace_invoice(stage: InvoiceStage) -> bool:
    file = stage.documents / "INV-1042.xml"
    file.write_text(file.read_text().replace(">8550.00<", ">8550.00 <"))
    return False


def test_killed_after_each_kind_of_write_it_repeats_nothing(
    agent_stage: InvoiceStage,
) -> None:
    stage = agent_stage
    stage.front.accident = after_each_kind_of_write(stage.kill_agent)
    with ThreadPoolExecutor(1) as pool:
        ending = pool.submit(stage.finish, "INV-1042")
        stage.decide(stage.pending(), "request_changes", reason="Name the prices.")
        stage.decide(stage.pending(revision=2), "approve")
        line = ending.result()
    assert_sent_once(stage, line)
    kinds = {one.kind for one in stage.front.seen if one.is_write}
    assert kinds >= {"pause", "revise", "redeem", "report", "checkpoints", "complete"}
    assert len(stage.agents) == len(kinds) + 1
    assert len(stage.corrections.statistics()["calls"]) == 1


@pytest.mark.long
@pytest.mark.parametrize("mode", ["managed", "agent"])
def test_killed_before_and_after_every_write_it_repeats_nothing(
    installation: Installation, tmp_path: Path, mode: str
) -> None:
    modes = {"send_correction_request": mode}
    with (
        invoice_stage(installation, tmp_path, modes=modes) as stage,
        ThreadPoolExecutor(1) as pool,
    ):
        stage.front.accident = at_each_write(stage.kill_agent)
        ending = pool.submit(stage.finish, "INV-1042")
        stage.decide(stage.pending(seconds=600), "approve")
        assert_sent_once(stage, ending.result())
        assert len(stage.agents) > 30
        assert list(stage.corrections.statistics()["calls"].values()) == [1]


def test_killed_while_it_waits_it_finds_the_decision(stage: InvoiceStage) -> None:
    stage.start_agent("INV-1042")
    approval = stage.pending()
    stage.kill_agent()
    stage.decide(approval, "approve")
    assert_sent_once(stage, stage.finish("INV-1042"))


def test_every_answer_lost_once_changes_nothing(agent_stage: InvoiceStage) -> None:
    agent_stage.front.accident = at_each_write(lambda: None)
    agent = agent_stage.start_agent("INV-1042")
    agent_stage.decide(agent_stage.pending(), "approve")
    assert_sent_once(agent_stage, agent_stage.line_of(agent) or {})
    assert len(agent_stage.agents) == 1


def test_a_server_that_is_killed_is_waited_for(stage: InvoiceStage) -> None:
    agent = stage.start_agent("INV-1042")
    approval = stage.pending()
    stage.installation.kill("web")
    stage.decide(approval, "approve")
    assert_sent_once(stage, stage.line_of(agent) or {})


def test_two_agents_on_one_task_act_once(agent_stage: InvoiceStage) -> None:
    stage = agent_stage
    agents = [stage.start_agent("INV-1042") for _ in range(2)]
    stage.decide(stage.pending(), "approve")
    endings = [agent.wait(timeout=120) for agent in agents]
    assert set(endings) <= {0, 1}
    assert 0 in endings
    assert_sent_once(stage, stage.finish("INV-1042"))


def test_a_call_whose_answer_is_lost_is_one_effect(agent_stage: InvoiceStage) -> None:
    agent_stage.corrections.fail_next("commit_then_drop")
    agent = agent_stage.start_agent("INV-1042")
    agent_stage.decide(agent_stage.pending(), "approve")
    assert_sent_once(agent_stage, agent_stage.line_of(agent) or {})
    assert list(agent_stage.corrections.statistics()["calls"].values()) == [1]


def test_a_refused_call_is_told_as_a_failure(agent_stage: InvoiceStage) -> None:
    agent_stage.corrections.fail_next("refuse", count=100)
    agent = agent_stage.start_agent("INV-1042")
    agent_stage.decide(agent_stage.pending(), "approve")
    line = agent_stage.line_of(agent) or {}
    assert (line["state"], line["outcome"]) == ("completed", "failed")
    assert agent_stage.run()["facts"]["correction_sent"]["value"] is False
    assert agent_stage.corrections.statistics()["total"] == 0


def test_an_old_validation_is_renewed_before_it_is_needed(stage: InvoiceStage) -> None:
    stage.start_agent("INV-1042")
    approval = stage.pending()
    stage.kill_agent()
    stage.age_fact("validation_status", hours=3)
    agent = stage.start_agent("INV-1042")
    wait_until(lambda: age_of(stage, "validation_status") < 600)
    stage.decide(approval, "approve")
    assert_sent_once(stage, stage.line_of(agent) or {})


def age_of(stage: InvoiceStage, fact: str) -> float:
    age: float = stage.run()["facts"][fact]["age_seconds"]
    return age
