"""Editing keeps types: what a form shows, a browser posts and we read is the same."""

from typing import Any

import pytest
import rfc8785
from django.template.loader import render_to_string
from hypothesis import given, settings
from hypothesis import strategies as st

from approvals.presentation.controls import controls, reply_controls
from approvals.presentation.differences import differences
from approvals.presentation.edit import Control
from approvals.presentation.reading import (
    Misread,
    Read,
    by_name,
    filled,
    leaves,
    read_controls,
    read_reply,
    typed,
    unbroken,
)
from approvals.presentation.reading import found as value_at
from kernel.formats import ASKED
from tests.approvals.presentation.browser_form import posted

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
numbers = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(
    allow_nan=False, allow_infinity=False
)
scalars = st.none() | st.booleans() | numbers | texts
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4)
    ),
    max_leaves=12,
)
documents = st.dictionaries(texts, values, max_size=5)


def form_of(arguments: Any, schema: Any = None) -> dict[str, str]:
    return posted(
        "".join(
            render_to_string("approvals/parts/control.html", {"control": one})
            for one in controls(arguments, schema)
        )
    )


def same(left: Any, right: Any) -> bool:
    """Equal bytes and equal Python types; `==` takes True for 1."""
    return repr(left) == repr(right) and rfc8785.dumps(left) == rfc8785.dumps(right)


@settings(deadline=None)  # the first example compiles the templates
@given(documents)
def test_an_unedited_form_gives_back_the_very_same_arguments(
    arguments: dict[str, Any],
) -> None:
    read = read_controls(form_of(arguments), arguments)
    assert isinstance(read, Read)
    assert same(read.arguments, arguments)
    assert differences(arguments, read.arguments) == []


@given(documents)
def test_arguments_fill_the_form_that_they_were_read_from(
    arguments: dict[str, Any],
) -> None:
    asked = controls(arguments)
    again = read_controls(typed(asked, arguments), arguments)
    assert isinstance(again, Read)
    assert same(again.arguments, arguments)
    shown = filled(asked, typed(asked, arguments), {})
    assert not any(one.edited for one in leaves(shown))


def test_what_was_typed_fills_the_form_again() -> None:
    form = {"/amount": "13", "/kind": "null", "/note": "Now.", "/reference": "R-1"}
    form = form_of(ORDER, SCHEMA) | form
    del form["/note#null"]
    read = read_controls(form, ORDER, SCHEMA)
    assert isinstance(read, Read)
    texts = typed(controls(ORDER, SCHEMA), read.arguments)
    assert read_controls(texts, ORDER, SCHEMA) == read
    assert (texts["/kind"], texts["/amount"], texts["/note"]) == ("null", "13", "Now.")


@settings(deadline=None)
@given(documents, st.data())
def test_an_edited_text_changes_that_value_alone(
    arguments: dict[str, Any], data: st.DataObject
) -> None:
    editable = [
        one for one in leaves(controls(arguments)) if one.kind in {"text", "long"}
    ]
    if not editable:
        return
    chosen = data.draw(st.sampled_from(editable))
    form = form_of(arguments) | {chosen.name: chosen.original + " edited"}
    read = read_controls(form, arguments)
    assert isinstance(read, Read)
    [one] = differences(arguments, read.arguments)
    assert one.pointer == chosen.pointer
    found = value_at(read.arguments, chosen.pointer)
    assert found == unbroken(chosen.original) + " edited"


@given(values, values)
def test_differences_are_empty_exactly_for_equal_json(left: Any, right: Any) -> None:
    equal = rfc8785.dumps(left) == rfc8785.dumps(right)
    assert (differences(left, right) == []) == equal


ORDER = {"amount": 12.5, "count": 3, "urgent": False, "to": "a@b.example", "note": None}
SCHEMA = {
    "type": "object",
    "required": ["reference"],
    "properties": {
        "amount": {"type": "number"},
        "count": {"type": "integer"},
        "urgent": {"type": "boolean"},
        "to": {"type": "string", "format": "email"},
        "note": {"type": ["string", "null"]},
        "kind": {"enum": ["a", 1, None]},
        "reference": {"type": "string"},
        "due": {"$ref": "#/$defs/day"},
    },
    "$defs": {"day": {"type": "string", "format": "date"}},
}


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("/amount", "13", 13),
        ("/amount", "-0.5", -0.5),
        ("/amount", "1e3", 1000.0),
        ("/count", "9007199254740991", 9007199254740991),
        ("/urgent", "true", True),
        ("/to", "true", "true"),
        ("/to", "", ""),
        ("/kind", "1", 1),
        ("/kind", '"a"', "a"),
        ("/kind", "null", None),
        ("/due", "2026-12-07", "2026-12-07"),
    ],
)
def test_an_edit_keeps_the_type(name: str, text: str, value: Any) -> None:
    form = form_of(ORDER, SCHEMA) | {"/reference": "R-1", name: text}
    read = read_controls(form, ORDER, SCHEMA)
    assert read == Read(ORDER | {"reference": "R-1", name[1:]: value})
    assert isinstance(read, Read)
    assert type(read.arguments[name[1:]]) is type(value)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("/amount", "12,5"),
        ("/amount", ""),
        ("/amount", "NaN"),
        ("/amount", "1e400"),
        ("/amount", "0.1000000000000000000001"),
        ("/count", "9007199254740993"),
        ("/count", "0x10"),
        ("/urgent", "yes"),
        ("/kind", "2"),
        ("/to", "null\0character"),
        ("/reference", ""),
    ],
)
def test_what_does_not_fit_is_an_error_beside_its_field(name: str, text: str) -> None:
    form = form_of(ORDER, SCHEMA) | {"/reference": "R-1", name: text}
    read = read_controls(form, ORDER, SCHEMA)
    assert isinstance(read, Misread)
    assert list(read.errors) == [name]


def test_a_field_nobody_asked_for_is_refused() -> None:
    form = form_of(ORDER) | {"/hidden": "1"}
    assert isinstance(read := read_controls(form, ORDER), Misread)
    assert list(read.errors) == [""]


def test_a_field_that_did_not_arrive_is_refused() -> None:
    form = form_of(ORDER)
    del form["/to"]
    assert isinstance(read := read_controls(form, ORDER), Misread)
    assert list(read.errors) == ["/to"]


def test_null_is_a_box_of_its_own() -> None:
    form = form_of(ORDER, SCHEMA) | {"/reference": "R-1"}
    assert form["/note#null"] == "1"
    del form["/note#null"]
    read = read_controls(form | {"/note": ""}, ORDER, SCHEMA)
    assert read == Read(ORDER | {"reference": "R-1", "note": ""})


def test_a_constant_is_shown_and_never_posted() -> None:
    schema = {"properties": {"to": {"const": "a@b.example"}}}
    assert "/to" not in form_of(ORDER, schema)
    assert not any(one.edited for one in controls({"to": 2}, schema))
    assert isinstance(
        read_controls({"/to": "x"}, {"to": "a@b.example"}, schema), Misread
    )


def test_a_returned_form_says_what_was_typed_and_what_is_wrong() -> None:
    asked = controls(ORDER, SCHEMA)
    [amount, *_] = filled(asked, {"/amount": "12,5"}, {"/amount": "Not a number."})
    assert (amount.text, amount.error, amount.edited) == ("12,5", "Not a number.", True)


def test_errors_of_a_validator_find_their_fields() -> None:
    asked = controls({"lines": [{"count": 1}]})
    errors = [
        {"pointer": "/lines/0/count", "detail": "too small"},
        {"pointer": "/lines", "detail": "too few"},
    ]
    assert by_name(asked, errors) == {
        "/lines/0/count": "too small",
        "": "/lines: too few",
    }


def test_a_form_that_stands_in_an_alternative_is_told() -> None:
    day = {"$ref": "#/$defs/day"}
    schema = {
        "properties": {
            "due": {"anyOf": [day, {"type": "null"}]},
            "at": {"oneOf": [day, {"type": "string", "format": "date-time"}]},
            "to": {"allOf": [{"type": "string", "format": "email"}]},
            "odd": {"anyOf": "day"},
        },
        "$defs": {"day": {"type": "string", "format": "date"}},
    }
    asked = controls({"due": "soon", "at": "soon", "to": "all", "odd": "x"}, schema)
    assert [(one.kind, one.note, one.hint) for one in asked] == [
        ("text", "date", ASKED["date"]),
        ("text", "text", f"{ASKED['date']} Or w{ASKED['date-time'][1:]}"),
        ("text", "e-mail address", ""),
        ("text", "text", ""),
    ]


def test_an_answer_follows_its_schema() -> None:
    schema = {
        "type": "object",
        "required": ["keep"],
        "properties": {"keep": {"enum": ["old", "new"]}, "why": {"type": "string"}},
    }
    assert read_reply({"/keep": '"new"', "/why": ""}, schema) == Read({"keep": "new"})
    assert isinstance(read_reply({"/keep": "", "/why": ""}, schema), Misread)


def test_an_answer_without_properties_is_one_value() -> None:
    [only] = reply_controls({"type": "number"})
    assert (only.name, only.kind) == ("/", "number")
    assert read_reply({"/": "4"}, {"type": "number"}) == Read(4)


@pytest.mark.parametrize(
    "reference", ["#/$defs/loop", "https://elsewhere.example/s", 7]
)
def test_a_reference_that_leads_nowhere_leaves_the_value_its_own_control(
    reference: Any,
) -> None:
    schema = {
        "properties": {"count": {"$ref": reference}},
        "$defs": {"loop": {"$ref": "#/$defs/loop"}},
    }
    [only] = controls({"count": 3}, schema)
    assert (only.kind, only.original) == ("number", "3")


@given(documents, values)
def test_any_schema_leaves_every_value_editable_or_shown(
    arguments: dict[str, Any], schema: Any
) -> None:
    shown: list[Control] = list(leaves(controls(arguments, schema)))
    assert len({one.name for one in shown}) == len(shown)
