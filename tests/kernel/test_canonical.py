"""Canonical bytes: what makes two values the same, and what does not."""

import hashlib
import json
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel.canonical import (
    approval_digest,
    canonical_bytes,
    definition_digest,
    digest,
    effect_key,
)
from kernel.problems import Problem
from tests.kernel.strategies import json_values, texts

TENANT = UUID(int=1)
REQUEST = UUID(int=2)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1.0, 1),
        (-0.0, 0),
        (1e2, 100),
        ({"b": 1, "a": 2}, {"a": 2, "b": 1}),
        ((1, 2), [1, 2]),
    ],
)
def test_spellings_of_the_same_value_are_one(one: object, other: object) -> None:
    assert digest("d", one) == digest("d", other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (True, 1),
        (False, 0),
        (None, 0),
        ("1", 1),
        ([], {}),
        ("\u00e9", "e\u0301"),  # equal to the eye: flagged when shown, never merged
        ("\ufb01", "fi"),
        ("a", "a "),
        ([1, 2], [2, 1]),
        ({"a": None}, {}),
    ],
)
def test_different_values_stay_different(one: object, other: object) -> None:
    assert digest("d", one) != digest("d", other)


def test_every_rule_of_the_canonical_form_at_once() -> None:
    value = {
        "numbers": [333333333.33333329, 4.50, 2e-3, 1e-27, 1e-6, 1e-7, -0.0],
        "text": "\u20ac$\u000f\nA'B\"\\/\u007f",
        "literals": [None, True, False],
    }
    assert (
        canonical_bytes(value)
        == (
            '{"literals":[null,true,false],"numbers":'
            "[333333333.3333333,4.5,0.002,1e-27,0.000001,1e-7,0],"
            '"text":"\u20ac$\\u000f\\nA\'B\\"\\\\/\u007f"}'
        ).encode()
    )


def test_keys_are_ordered_by_utf_16() -> None:
    # U+FB33 comes before U+1F600 as a code point and after it in UTF-16 units.
    value = {"\ufb33": 1, "\U0001f600": 2, "\u20ac": 3, "\r": 4, "1": 5, "\u0080": 6}
    keys = list(json.loads(canonical_bytes(value)))
    assert keys == ["\r", "1", "\u0080", "\u20ac", "\U0001f600", "\ufb33"]


@given(st.dictionaries(texts, json_values, min_size=2), st.randoms())
def test_the_order_of_keys_never_counts(members: dict[str, object], random) -> None:
    shuffled = list(members.items())
    random.shuffle(shuffled)
    assert canonical_bytes(dict(shuffled)) == canonical_bytes(members)


@given(json_values)
def test_wrapping_or_renaming_a_value_changes_its_digest(value: object) -> None:
    variants = [value, [value], {"a": value}, {"b": value}, [[value]]]
    assert len({digest("d", variant) for variant in variants}) == len(variants)


def test_a_digest_is_the_hash_of_domain_nul_and_bytes() -> None:
    expected = hashlib.sha256(b'keyturn/approval/v1\0{"a":1}').digest()
    assert approval_digest({"a": 1.0}) == expected


def test_domains_separate() -> None:
    assert approval_digest({}) != definition_digest({})


def test_only_strict_json_has_a_digest() -> None:
    with pytest.raises(Problem, match=r"json\.number_not_exact"):
        digest("d", {"a": float("nan")})


def test_an_effect_key_follows_the_action_and_nothing_else() -> None:
    def key(**changes: object) -> bytes:
        action = {
            "tenant": TENANT,
            "request": REQUEST,
            "tool": "pay",
            "target": "INV-1042",
            "arguments": {"amount": "10.00", "currency": "EUR"},
        }
        return effect_key(**(action | changes))

    assert key() == key(arguments={"currency": "EUR", "amount": "10.00"})
    edits = [
        {"tenant": REQUEST},
        {"request": TENANT},
        {"tool": "refund"},
        {"target": "INV-1043"},
        {"arguments": {"amount": "10.01", "currency": "EUR"}},
    ]
    keys = {key(), *(key(**edit) for edit in edits)}
    assert len(keys) == len(edits) + 1
