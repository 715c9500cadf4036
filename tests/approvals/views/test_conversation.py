"""What was said in the session, as its case shows it."""

import json

import pytest

from sessions.services.items import append_items
from tests.approvals.stage import Stage
from tests.approvals.views.browsing import reader

ITEMS = {
    '{"role":"user","content":"Hello"}': [("user", "Hello", "")],
    '{"role":"assistant","content":[{"type":"text","text":"Yes"},'
    '{"type":"tool_use","name":"look","input":{"a":1}}]}': [
        ("model", "Yes", ""),
        ("tool", '{"a": 1}', "look"),
    ],
    '{"role":"user","content":[{"type":"tool_result","content":'
    '[{"type":"text","text":"3 lines"}]}]}': [("tool", "3 lines", "")],
    '{"role":"assistant","content":null,"tool_calls":[{"type":"function","function":'
    '{"name":"look","arguments":"{}"}}]}': [("tool", "{}", "look")],
    '{"type":"function_call_output","output":"done"}': [("tool", "done", "")],
    '{"role":"model","parts":[{"text":"Hm"},{"functionCall":{"name":"f","args":{}}}]}': [
        ("model", "Hm", ""),
        ("tool", "{}", "f"),
    ],
    '{"type":"human","content":"Hi"}': [("user", "Hi", "")],
    '{"unheard":"of"}': [("system", '{"unheard": "of"}', "")],
    '"a bare text"': [("system", "a bare text", "")],
    "12": [("system", "12", "")],
    "[]": [("system", "[]", "")],
    "not json at all": [("system", "not json at all", "")],
    '{"role":["user"],"content":{"deep":1}}': [("system", '{"deep": 1}', "")],
    '{"role":"ai","tool_calls":5}': [("system", '{"role":"ai","tool_calls":5}', "")],
}


@pytest.mark.parametrize("raw", ITEMS)
def test_items_of_any_provider_are_read(raw: str) -> None:
    from approvals.pages.case.talk import pieces

    found = [(one.provenance, one.text, one.call) for one in pieces(raw)]
    assert found == ITEMS[raw]


@pytest.mark.parametrize(
    "raw", ["[" * 100_000 + "]" * 100_000, '{"content":' * 5_000 + "1" + "}" * 5_000]
)
def test_an_item_nested_without_end_is_text(raw: str) -> None:
    from approvals.pages.case.talk import pieces

    assert pieces(raw)[0].text == raw


def test_the_conversation_is_the_agents_record_and_says_so(stage: Stage) -> None:
    run = stage.run()
    append_items(
        who=stage.house.robot.principal,
        session_id=run.session_id,
        items=['{"role":"user","content":"Pay it."}', '"' + "x" * 9_000 + '"'],
    )
    first, long = reader(stage).case(stage.ask(run).id).talk
    assert first.who == "as robot recorded it"
    assert len(long.text) == 4_000
    assert "the first 4,000 of 9,000 characters" in long.who


def test_what_tools_answered_stands_as_evidence(stage: Stage) -> None:
    run = stage.run()
    said = [
        {"role": "assistant", "tool_calls": [{"function": {"name": "compare"}}]},
        {"role": "tool", "content": "3 lines, 1 mismatch"},
        {"role": "tool", "content": "x" * 200},
    ]
    append_items(
        who=stage.house.robot.principal,
        session_id=run.session_id,
        items=[json.dumps(one) for one in said],
    )
    newest, first = reader(stage).case(stage.ask(run).id).evidence
    assert (first.tool, first.summary, first.text) == (
        "compare",
        "3 lines, 1 mismatch",
        "",
    )
    assert first.source == "Item 2, as robot recorded it"
    assert (newest.summary, len(newest.text)) == ("", 200)


def test_what_was_said_since_the_question_is_for_those_who_oversee(
    stage: Stage,
) -> None:
    request = stage.ask()
    append_items(
        who=stage.house.robot.principal,
        session_id=request.session_id,
        run_id=request.run_id,
        fence=stage.fresh(request.run).fence,
        items=['{"role":"user","content":"Said since"}'],
    )
    assert reader(stage).case(request.id).talk == ()
    seen = reader(stage, stage.house.alice).case(request.id).talk
    assert [row.text for row in seen] == ["Said since"]
