"""The editor of tools: what is typed comes back, trying sends nothing, keeping is a verb."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoints.definition import DEFINITION, check_definition
from checkpoints.models import Tool
from checkpoints.services.tools import disable_tool, register_tool, register_unreviewed
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from oversight.presentation.tool_form import TypedTool, example_of, read_tool
from tests.approvals.presentation.browser_form import posted
from tests.approvals.stage import Stage, fresh_stage
from tests.approvals.views.browsing import Reader, reader
from tests.chain import kinds_of
from tests.oversight.administering import text, turned_away

SCHEMA = {
    "type": "object",
    "properties": {"payee": {"type": "string"}, "amount": {"type": "number"}},
    "required": ["payee"],
    "additionalProperties": False,
}


@pytest.fixture
def stage() -> Stage:
    return fresh_stage()


@pytest.fixture
def alice(stage: Stage) -> Reader:
    return reader(stage, stage.house.alice)


def typed(**more: str) -> dict[str, str]:
    return {
        "name": "wire",
        "mode": "managed",
        "risk": "high",
        "title": "Wire {amount} to {payee}",
        "schema": json.dumps(SCHEMA),
        "url": "https://pay.example/wires",
        "headers": "Authorization: Bearer secret://bank",
        "attempts": "2",
        "resend": "on",
        "sample": '{"payee": "Bolt", "amount": 12.5}',
        **more,
    }


def tool_named(stage: Stage, name: str) -> Tool | None:
    with tenant_transaction(stage.tenant_id):
        return Tool.objects.filter(name=name).first()


def kept(stage: Stage, alice: Reader, path: str, **more: str) -> Tool:
    answer = alice.post(path, typed(act="keep", **more))
    assert answer.status_code == 303, text(answer)
    tool = tool_named(stage, "wire")
    assert tool is not None
    return tool


def test_a_new_one_is_registered_as_it_was_typed(stage: Stage, alice: Reader) -> None:
    tool = kept(stage, alice, "new-tool")
    assert (tool.mode, tool.risk, tool.version, tool.reviewed) == (
        "managed",
        "high",
        1,
        True,
    )
    assert tool.definition == {
        "title": "Wire {amount} to {payee}",
        "schema": SCHEMA,
        "url": "https://pay.example/wires",
        "headers": {"Authorization": "Bearer secret://bank"},
        "attempts": 2,
        "resend": True,
    }
    assert kinds_of(stage.tenant_id, tool.id) == ["tool.registered"]


def test_trying_shows_what_would_be_sent_and_keeps_nothing(
    stage: Stage, alice: Reader
) -> None:
    answer = alice.post("new-tool", typed(act="try"))
    trial = answer.context["form"].trial
    assert (trial.title, trial.refused) == ("Wire 12.5 to Bolt", "")
    first, *_, body = trial.request.split("\n")
    assert first == "POST https://pay.example/wires"
    assert body == '{"amount":12.5,"payee":"Bolt"}'
    assert "Authorization: Bearer secret://bank" in trial.request
    assert trial.secrets[0].why  # nobody registered that name for it
    assert tool_named(stage, "wire") is None


def test_trying_says_why_an_agent_would_be_turned_away(alice: Reader) -> None:
    answer = alice.post("new-tool", typed(act="try", sample='{"amount": "12"}'))
    assert answer.context["form"].trial.refused.startswith("/")


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ("schema", "{"),
        ("schema", "[]"),
        ("schema", '{"type": "objekt"}'),
        ("sample", "{]"),
        ("timeout", "nan"),
        ("timeout", "61"),
        ("attempts", "many"),
        ("headers", "no colon"),
        ("headers", "Host: other.example"),
        ("url", "ftp://pay.example"),
        ("status_url", "https://pay.example/without-key"),
        ("name", "no spaces please"),
        ("description", "AKIAIOSFODNN7EXAMPLE is the key"),
    ],
)
def test_what_is_wrong_stands_beside_its_field(
    stage: Stage, alice: Reader, field: str, said: str
) -> None:
    answer = alice.post("new-tool", typed(**{"act": "try", field: said}))
    assert answer.status_code == 422
    assert list(answer.context["form"].errors) == [field]
    assert answer.context["form"].typed == TypedTool(**typed(**{field: said}))
    assert tool_named(stage, "wire") is None


def test_a_name_that_is_taken_stands_beside_the_name(alice: Reader) -> None:
    answer = alice.post("new-tool", typed(act="keep", name="pay"))
    assert list(answer.context["form"].errors) == ["name"]


def test_keeping_makes_the_next_version_of_what_was_seen(
    stage: Stage, alice: Reader
) -> None:
    tool = kept(stage, alice, "new-tool")
    path = f"tools/{tool.id}/edit"
    begun = alice.get(path).context["form"].typed
    assert json.loads(begun.schema) == SCHEMA
    assert begun.headers == "Authorization: Bearer secret://bank"
    changed = kept(stage, alice, path, seen=begun.seen, risk="critical")
    assert (changed.version, changed.risk, changed.digest != tool.digest) == (
        2,
        "critical",
        True,
    )
    late = alice.post(path, typed(act="keep", seen=begun.seen, risk="low"))
    assert late.status_code == 422
    assert "version 2" in late.context["form"].errors[""]
    tool = kept(stage, alice, path, seen="2")
    assert tool.version == 3


def test_one_that_is_stopped_stays_so(stage: Stage, alice: Reader) -> None:
    tool = kept(stage, alice, "new-tool")
    disable_tool(tenant_id=stage.tenant_id, by=stage.house.alice.id, tool_id=tool.id)
    path = f"tools/{tool.id}/edit"
    assert "stays stopped" in text(alice.get(path))
    assert not kept(stage, alice, path, seen="1").enabled


def test_one_that_nobody_reviewed_is_reviewed_by_keeping_it(
    stage: Stage, alice: Reader
) -> None:
    register_unreviewed(stage.house.robot.principal, name="wire")
    tool = tool_named(stage, "wire")
    assert tool is not None
    path = f"tools/{tool.id}/edit"
    assert "Review <code>" in text(alice.get(path))
    assert kept(stage, alice, path, seen="1").reviewed


def test_only_administrators_edit_and_only_their_own(
    stage: Stage, alice: Reader
) -> None:
    turned_away(alice, "new-tool", "keep", "try")
    turned_away(alice, f"tools/{stage.tool.id}/edit", "keep", "try")
    other = fresh_stage()
    theirs = reader(other, other.house.alice)
    path = f"tools/{stage.tool.id}/edit"
    assert theirs.get(path).status_code == 404
    assert theirs.post(path, typed(act="keep", seen="1")).status_code == 404


EVERYTHING: dict[str, Any] = {
    "description": "Sends money.\nFor good.",
    "title": "Wire {amount} to {payee}",
    "size": "{amount} EUR",
    "schema": SCHEMA,
    "reasons": ["Not this payee.", "Too much: ask “Treasury” <first>."],
    "url": "https://pay.example/wires",
    "status_url": "https://pay.example/wires/{key}",
    "headers": {"Authorization": "Bearer secret://bank", "X-Team": "a: b"},
    "timeout": 2.5,
    "settle": 0,
    "attempts": 2,
    "resend": True,
    "irreversible": True,
}


def test_keeping_a_form_as_it_was_shown_changes_nothing(
    stage: Stage, alice: Reader
) -> None:
    """Whatever a definition may say; read from the page as a browser would."""
    assert set(EVERYTHING) == set(DEFINITION["properties"])
    by = {"tenant_id": stage.tenant_id, "by": stage.house.alice.id}
    tool = register_tool(
        **by, name="wire", mode="managed", risk="low", definition=EVERYTHING
    )
    path = f"tools/{tool.id}/edit"
    shown = posted(alice.get(path).content.decode())
    answer = alice.post(path, {**shown, "act": "keep"})
    assert answer.status_code == 303, text(answer)
    after = tool_named(stage, "wire")
    assert after is not None
    assert (after.definition, after.version) == (EVERYTHING, 2)
    assert (after.digest, after.mode, after.risk) == (tool.digest, "managed", "low")


@pytest.mark.parametrize("reason", ["", " ", "one\ntwo", "one\rtwo", " before", "a\n"])
def test_a_ready_made_reason_is_one_line(reason: str) -> None:
    check_definition("agent", {"reasons": ["Not now.", "-"]})
    with pytest.raises(Problem, match="tool_invalid"):
        check_definition("agent", {"reasons": [reason]})


@pytest.mark.parametrize(
    ("schema", "empty"),
    [
        ({"type": ["string", "null"]}, ""),
        ({"type": ["null", "integer"]}, 0),
        (
            {"type": ["null", "object"], "properties": {"a": {"type": "array"}}},
            {"a": []},
        ),
        ({"type": "null"}, None),
        ({"type": ["null"]}, None),
        ({"type": "boolean"}, False),
        ({"examples": ["EUR"], "enum": ["USD"]}, "EUR"),
        ({"enum": ["USD"]}, "USD"),
        (True, None),
        ({}, None),
    ],
)
def test_a_sample_is_made_from_the_schema(schema: Any, empty: Any) -> None:
    assert example_of({"properties": {"one": schema}}) == {"one": empty}


words = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=30).map(
    str.strip
)
definitions = st.fixed_dictionaries(
    {},
    optional={
        "description": words.filter(bool),
        "title": words.filter(bool),
        "url": words.filter(bool),
        "timeout": st.integers(1, 60) | st.sampled_from([1.5, 2.25]),
        "attempts": st.integers(1, 20),
        "resend": st.just(True),
        "irreversible": st.just(True),
        "reasons": st.lists(words.filter(bool), max_size=8, unique=True).filter(
            lambda said: said != ["-"]
        ),
        "headers": st.dictionaries(
            st.from_regex(r"[A-Za-z][A-Za-z0-9-]{0,10}", fullmatch=True),
            st.from_regex(r"[!-~]([ -~]{0,9}[!-~])?", fullmatch=True),
            min_size=1,
            max_size=3,
        ),
        "schema": st.just(SCHEMA),
    },
)


@given(definitions)
def test_the_form_says_what_the_definition_says(definition: dict[str, Any]) -> None:
    read = read_tool(TypedTool.of(definition))
    assert (read.definition, read.errors) == (definition, {})
