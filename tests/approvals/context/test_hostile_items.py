"""Items that lie about their form: whatever an agent records can be read."""

import json
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from approvals.context.items import read_item
from approvals.pages.case.talk import pieces
from kernel.ids import new_id

NAMES = st.sampled_from(
    [
        *("type", "role", "content", "tool_calls", "call_id", "id", "tool_use_id"),
        *("tool_call_id", "function", "name", "arguments", "input", "text", "refusal"),
        *("output", "parts", "summary", "functionCall"),
    ]
)
WORDS = st.sampled_from(
    [
        *("user", "assistant", "tool_use", "tool_result", "function_call"),
        *("function_call_output", "reasoning", "compaction", "text", "\ud800"),
    ]
)
FORMS = st.recursive(
    st.none() | st.booleans() | st.integers() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner),
    max_leaves=12,
)
KEPT = "AKIA" + "ABCDEFGHIJKLMNOP"  # the form of a credential, so that it is taken out


@settings(max_examples=300, deadline=None)
@given(FORMS)
@example({"role": "user", "content": [], "x": KEPT})
@example({"role": "assistant", "tool_calls": 5})
@example({"role": {}, "content": [{"type": []}]})
@example({"type": [], "call_id": "call-1"})
def test_an_item_of_any_form_says_something(item: Any) -> None:
    raw = json.dumps(item)
    assert pieces(raw)
    read = read_item(raw, position=1, id=new_id(), run=None, at="")
    assert read.parts
    assert KEPT not in str(read)
