"""Schemas from outside: what they may say, and that none of them can stall us."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from kernel import json_schema
from kernel.formats import ASKED
from kernel.json_schema import (
    check_formats,
    check_schema,
    check_value,
    end_of_reading,
)
from kernel.problems import Problem, check_all
from tests.refusals import refused

AMOUNT = {"type": "string", "pattern": "^-?[0-9]{1,12}\\.[0-9]{2}$"}
INVOICE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "amount": AMOUNT,
        "lines": {"type": "array", "items": {"type": "integer"}, "uniqueItems": True},
        "a/b~c": {"const": 1},
    },
    "required": ["amount"],
    "additionalProperties": False,
}


def place(schema: dict[str, Any], value: Any) -> str | None:
    try:
        check_value(schema, value, pointer="/arguments")
    except Exception as problem:
        return problem.pointer  # type: ignore[attr-defined,no-any-return]
    return None


def test_a_value_that_fits_passes() -> None:
    check_value(INVOICE, {"amount": "-240.00", "lines": [1, 2], "a/b~c": 1})


@pytest.mark.parametrize(
    ("value", "pointer"),
    [
        ([], "/arguments"),
        ({}, "/arguments"),
        ({"amount": "1.00", "other": 1}, "/arguments"),
        ({"amount": "1.0"}, "/arguments/amount"),
        ({"amount": "1.00\n"}, "/arguments/amount"),
        ({"amount": "1.00", "lines": [1, "2"]}, "/arguments/lines/1"),
        ({"amount": "1.00", "lines": [1, 1.0]}, "/arguments/lines"),
        ({"amount": "1.00", "a/b~c": True}, "/arguments/a~1b~0c"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_at_its_place(
    value: Any, pointer: str
) -> None:
    assert place(INVOICE, value) == pointer


def test_the_refusal_says_what_is_wanted_and_repeats_nothing_secret() -> None:
    with pytest.raises(Exception, match="Missing") as missing:
        check_value(INVOICE, {"amoumt": "hunter2-hunter2"})
    assert "hunter2" not in str(missing.value)
    with pytest.raises(Exception, match="look like this") as unlike:
        check_value(INVOICE, {"amount": "hunter2-hunter2"})
    assert "hunter2" not in str(unlike.value)


@pytest.mark.parametrize(
    ("schema", "value", "sentence"),
    [
        ({"type": "integer"}, 1.5, "It must be a whole number, like 12."),
        ({"type": ["string", "null"]}, 1, "It must be text or nothing (null)."),
        ({"minLength": 1}, "", "Too short: its length is at least 1."),
        ({"maxLength": 3}, "long", "Too long: its length is at most 3."),
        ({"maximum": 500}, 501, "Too large: at most 500."),
        ({"exclusiveMinimum": 0}, 0, "Too small: more than 0."),
        ({"minItems": 1}, [], "Too few: at least 1."),
        ({"enum": ["a", 1]}, "b", 'It must be one of "a", 1.'),
        ({"pattern": "^[A-Z]+$"}, "b", "It must look like this: `^[A-Z]+$`"),
        ({"pattern": "^[A-Z]+$", "description": "In capitals."}, "b", "In capitals."),
        ({"required": ["to", "at"]}, {}, "Missing: to, at."),
    ],
)
def test_a_refusal_is_a_sentence_for_people(
    schema: dict[str, Any], value: Any, sentence: str
) -> None:
    with pytest.raises(Problem) as told:
        check_value(schema, value)
    assert told.value.detail == sentence


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        (True, ""),
        ({"type": "objekt"}, "/type"),
        ({"$ref": "https://example.test/s"}, "/$ref"),
        ({"items": {"$dynamicRef": "other"}}, "/items/$dynamicRef"),
        ({"$schema": "http://json-schema.org/draft-07/schema#"}, "/$schema"),
        (
            {"items": {"$schema": "https://json-schema.org/draft/2020-12/schema"}},
            "/items/$schema",
        ),
        ({"patternProperties": {"^a": {}}}, "/patternProperties"),
        ({"pattern": "("}, "/pattern"),
        ({"pattern": "(?=a)"}, "/pattern"),
        ({"pattern": "(a)\\1"}, "/pattern"),
        ({"pattern": "a" * 257}, "/pattern"),
    ],
)
def test_a_schema_that_could_fetch_or_stall_is_refused(
    schema: Any, pointer: str
) -> None:
    with pytest.raises(Exception, match="schema_invalid") as problem:
        check_schema(schema)
    assert problem.value.pointer == pointer  # type: ignore[attr-defined]


def test_properties_may_have_the_names_of_keywords() -> None:
    names = ("pattern", "$ref", "$schema", "required")
    schema: dict[str, Any] = {"type": "object"}
    schema["properties"] = dict.fromkeys(names, AMOUNT)
    check_schema(schema)
    assert place(schema, {"pattern": "x"}) == "/arguments/pattern"


def test_a_declared_dialect_changes_nothing() -> None:
    dialect: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema"
    }
    check_schema({**dialect, **INVOICE})
    evil = {**dialect, "$defs": {"p": {"pattern": "^(a+)+$"}}, "$ref": "#/$defs/p"}
    check_schema(evil)
    assert place(evil, "a" * 50 + "!") == "/arguments"


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}, {"$ref": "#"}]},
        {
            "$defs": {
                f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2}
                for n in range(60)
            }
            | {"d60": {}},
            "$ref": "#/$defs/d0",
        },
    ],
    ids=["loop", "branching loop", "a billion laughs"],
)
def test_a_schema_without_end_is_given_up(schema: dict[str, Any]) -> None:
    check_schema(schema)
    began = time.monotonic()
    with refused("schema_too_complex", status=422):
        check_value(schema, {})
    assert time.monotonic() - began < 20


def test_a_pattern_cannot_backtrack() -> None:
    began = time.monotonic()
    assert place({"pattern": "^(([a-z])+.)+[A-Z]([a-z])+$"}, "a" * 100_000)
    assert time.monotonic() - began < 5


def test_patterns_that_take_long_to_compile_are_not_all_tried() -> None:
    """An agent may send a schema with its question: a thousand took minutes."""
    texts = [{"pattern": rf"(\w{{1,40}}){{1,5}}{n}"} for n in range(1_500)]
    began = time.thread_time()
    with refused("schema_too_complex", status=422):
        check_schema({"prefixItems": texts})
    assert time.thread_time() - began < 3 * json_schema.MAX_READING


def test_schemas_of_one_request_have_their_time_together() -> None:
    schema = {"pattern": "^a$"}
    check_schema(schema, ends=end_of_reading())
    with refused("schema_too_complex", status=422):
        check_schema(schema, ends=time.thread_time() - 1)


@pytest.mark.parametrize("pattern", ["(.{0,100}x){50}y", "(?x)(.{0, 1 00}x){5 0 }y"])
def test_a_text_is_not_too_long_for_its_pattern(pattern: str) -> None:
    """Of a quarter of a megabyte each character was looked at by thousands of states."""
    assert place({"pattern": pattern}, "x" * 500)
    with refused("schema_too_complex", status=422):
        check_value({"pattern": pattern}, "x" * 20_000)


def test_long_texts_have_plain_patterns() -> None:
    text = "x" * 4_000
    notes = {"items": {"pattern": "^[^<>]{1,4000}$"}}
    check_value(notes, [text] * 10)
    assert (
        place({"pattern": "^[A-Z]{2}[0-9]{10,30}$"}, "DE89370400440532013000") is None
    )


def test_a_reference_that_leads_nowhere_is_the_schemas_fault() -> None:
    with refused("schema_invalid", status=422):
        check_value({"$ref": "#/$defs/absent"}, 1)


def test_a_recursive_schema_serves_values_of_reasonable_depth() -> None:
    tree: dict[str, Any] = {
        "type": "object",
        "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}},
        "additionalProperties": False,
    }
    check_schema(tree)
    assert place(tree, {"left": {"right": {"left": {}}}}) is None
    assert place(tree, {"left": {"right": {"up": {}}}}) == "/arguments/left/right"


@pytest.mark.parametrize(
    ("form", "good", "bad"),
    [
        ("date", ["2026-12-01"], ["", "1 December", "2026-13-01", "2026-12-01T00:00Z"]),
        (
            "date-time",
            ["2026-12-01T09:30:00Z", "2026-12-01t09:30:00.25+02:00"],
            ["", "1 January 2027 8:00", "2026-12-01T09:30", "2026-12-32T09:30:00Z"],
        ),
        ("email", ["a@b.example", "ä@localhost"], ["", "nobody at all", "a@b@c"]),
        ("uri", ["https://a.example/b?c", "urn:a:b"], ["", "a.example", "http://a b"]),
        ("uuid", ["123e4567-e89b-12d3-a456-426614174000"], ["", "123e4567"]),
    ],
)
def test_a_person_writes_a_text_in_the_form_that_is_named(
    form: str, good: list[str], bad: list[str]
) -> None:
    schema = {"properties": {"at": {"type": "string", "format": form}}}
    for text in good:
        check_formats(schema, {"at": text})
    for text in bad:
        with refused("value_invalid", pointer="/arguments/at", detail=ASKED[form]):
            check_formats(schema, {"at": text}, pointer="/arguments")


def test_formats_bind_no_agent_and_nothing_that_nobody_touched() -> None:
    due = {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]}
    schema = {"items": due}
    before = ["soon", "2026-12-01"]
    check_value(schema, before)
    check_formats(schema, ["soon", "2026-12-02"], before)
    check_formats(schema, ["soon", None], before)
    with refused("value_invalid", pointer="/1", detail=ASKED["date"]):
        check_formats(schema, ["soon", "soon"], before)


def test_a_form_that_is_not_known_is_none() -> None:
    check_formats({"format": "our-own"}, "anything")


def told(refusing: Callable[[], None]) -> list[tuple[str, str]]:
    with pytest.raises(Problem) as problem:
        refusing()
    errors = problem.value.document()["errors"]
    assert {one["code"] for one in errors} == {"value_invalid"}
    first = (problem.value.pointer, problem.value.detail)
    assert first == (errors[0]["pointer"], errors[0]["detail"])
    return [(one["pointer"], one["detail"]) for one in errors]


def test_all_flaws_are_told_the_most_telling_first() -> None:
    schema = {
        "required": ["to", "at"],
        "properties": {
            "n": {"maximum": 5},
            "s": {"anyOf": [{"type": "string", "minLength": 2}, {"type": "null"}]},
        },
    }
    assert told(lambda: check_value(schema, {"n": 6, "s": "x"}, pointer="/a")) == [
        ("/a", "Missing: to, at."),
        ("/a/n", "Too large: at most 5."),
        ("/a/s", "Too short: its length is at least 2."),
    ]


def test_of_very_many_flaws_twenty_are_told() -> None:
    items = {"items": {"type": "integer"}}
    found = told(lambda: check_value(items, ["x"] * 5_000))
    places = {pointer for pointer, _ in found}
    assert (len(found), places > {f"/{n}" for n in range(19)}) == (20, True)


def test_several_checks_refuse_together() -> None:
    schema = {"properties": {"n": {"maximum": 5}, "to": {"format": "email"}}}
    value = {"n": 6, "to": "nobody"}
    checks = (
        lambda: check_value(schema, value),
        lambda: check_formats(schema, value),
        lambda: check_value(schema, value),
    )
    assert told(lambda: check_all(*checks)) == [
        ("/n", "Too large: at most 5."),
        ("/to", ASKED["email"]),
    ]
    check_all(lambda: None)
