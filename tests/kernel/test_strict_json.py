"""Bytes that mean one thing only: what is refused, where, and at what cost."""

import contextlib
import json
import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel.canonical import canonical_bytes
from kernel.problems import Problem
from kernel.strict_json import MAX_DEPTH, MAX_NUMBER, canonical_value, parse
from tests.kernel.strategies import json_values


def refusal(body: bytes) -> Problem:
    with pytest.raises(Problem) as caught:
        parse(body)
    return caught.value


@given(json_values)
def test_what_json_writes_is_read_back_unchanged(value: object) -> None:
    body = json.dumps(value).encode()
    assert canonical_bytes(parse(body, limit=len(body))) == canonical_bytes(value)


@given(json_values)
def test_the_canonical_form_is_itself_strict_and_a_fixed_point(value: object) -> None:
    body = canonical_bytes(value)
    assert canonical_bytes(parse(body, limit=len(body))) == body


@given(
    st.binary(max_size=60) | st.text(alphabet='{}[]",:0123eE.-+\\ud8').map(str.encode)
)
def test_any_bytes_give_a_value_or_a_problem(body: bytes) -> None:
    with contextlib.suppress(Problem):
        canonical_bytes(parse(body))


@pytest.mark.parametrize(
    ("body", "code", "pointer"),
    [
        (b'{"a": 1, "a": 1}', "json.duplicate_key", "/a"),
        (b'{"a": [0, {"b/c~": 1, "\\u0062/c~": 2}]}', "json.duplicate_key", "/a/1/b~1c~0"),
        (b'{"x": {"a": 1, "a": 1}, "x": 2}', "json.duplicate_key", "/x"),
        (b'[1, NaN]', "json.number_not_exact", "/1"),
        (b'{"a": Infinity}', "json.number_not_exact", "/a"),
        (b'{"a": -Infinity}', "json.number_not_exact", "/a"),
        (b'{"a": 1e400}', "json.number_not_exact", "/a"),
        (b'{"a": 1e-400}', "json.number_not_exact", "/a"),
        (b'1e99999999999999999999999', "json.number_not_exact", ""),
        (b'1e-99999999999999999999999', "json.number_not_exact", ""),
        (b'9007199254740992', "json.number_not_exact", ""),
        (b'-9007199254740993', "json.number_not_exact", ""),
        (b'9007199254740992.0', "json.number_not_exact", ""),
        (b'1e21', "json.number_not_exact", ""),
        (b'0.1000000000000000000001', "json.number_not_exact", ""),
        (b'4503599627370497.3', "json.number_not_exact", ""),
        (b'[' + b'9' * 5_000 + b']', "json.number_not_exact", "/0"),
        (b'[0.' + b'0' * 5_000 + b'1]', "json.number_not_exact", "/0"),
        (b'{"a": "x\\u0000"}', "json.null_character", "/a"),
        (b'{"a": {"\\u0000": 1}}', "json.null_character", "/a"),
        (b'{"a": "\\ud800"}', "json.surrogate", "/a"),
        (b'{"a": "\\udc00\\ud800"}', "json.surrogate", "/a"),
        (b'{"a": {"\\ud800": 1}}', "json.surrogate", "/a"),
        (b'{"\\ud800": 1, "\\ud800": 1}', "json.duplicate_key", ""),
    ],
)  # fmt: skip
def test_a_flawed_value_is_refused_at_its_place(
    body: bytes, code: str, pointer: str
) -> None:
    problem = refusal(body)
    assert (problem.status, problem.code, problem.pointer) == (400, code, pointer)


@pytest.mark.parametrize(
    ("body", "code", "offset"),
    [
        (b"", "json.syntax", 0),
        (b"[1,]", "json.syntax", 2),
        ('["é" 1]'.encode(), "json.syntax", 6),
        (b"{} {}", "json.syntax", 3),
        (b"01", "json.syntax", 1),
        (b"'a'", "json.syntax", 0),
        (b'["a\nb"]', "json.syntax", 3),
        ("\u00a01".encode(), "json.syntax", 0),
        (b"\xef\xbb\xbf{}", "json.encoding", 0),
        (b'["\xff"]', "json.encoding", 2),
        (b'["\xed\xa0\x80"]', "json.encoding", 2),
        (b'["\xc0\xaf"]', "json.encoding", 2),
        ('{"a":1}'.encode("utf-16"), "json.encoding", 0),
        (b"[" * 65 + b"]" * 65, "json.depth", 64),
    ],
)
def test_what_is_not_json_is_refused_with_its_offset(
    body: bytes, code: str, offset: int
) -> None:
    problem = refusal(body)
    assert (problem.status, problem.code) == (400, code)
    assert problem.extra["offset"] == offset


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b"9007199254740991", MAX_NUMBER),
        (b" -9007199254740991\n", -MAX_NUMBER),
        (b"1.50000", 1.5),
        (b"0e999", 0.0),
        (b"1E2", 100.0),
        (b"5e-324", 5e-324),
        (b'"\\ud83d\\ude00"', "\N{GRINNING FACE}"),
        (b'{"a": 1, "A": 1}', {"a": 1, "A": 1}),
    ],
)
def test_exact_values_are_read(body: bytes, value: object) -> None:
    assert parse(body) == value


def test_brackets_in_text_are_not_depth() -> None:
    value = ['"]\\' + "[{" * 200, "[" * 99 + "\\"]
    assert parse(json.dumps(value).encode()) == value


def test_the_deepest_allowed_value_is_read() -> None:
    body = b'{"a":' * MAX_DEPTH + b"1" + b"}" * MAX_DEPTH
    canonical_value(parse(body))


def test_over_size_is_413_before_anything_is_read() -> None:
    with pytest.raises(Problem) as caught:
        parse(b"[" * 11, limit=10)
    assert (caught.value.status, caught.value.code) == (413, "body_too_large")


@pytest.mark.parametrize(
    ("value", "code", "pointer"),
    [
        ({"a": math.nan}, "json.number_not_exact", "/a"),
        ([math.inf], "json.number_not_exact", "/0"),
        ([2**53], "json.number_not_exact", "/0"),
        ({"a": {1: 2}}, "json.type", "/a"),
        ([b"x"], "json.type", "/0"),
        ([{1}], "json.type", "/0"),
        ("\0", "json.null_character", ""),
    ],
)
def test_python_values_are_held_to_the_same(
    value: object, code: str, pointer: str
) -> None:
    with pytest.raises(Problem) as caught:
        canonical_value(value)
    assert (caught.value.code, caught.value.pointer) == (code, pointer)


def test_a_value_that_holds_itself_is_too_deep() -> None:
    value: list[object] = []
    value.append(value)
    with pytest.raises(Problem, match="nested") as caught:
        canonical_value(value)
    assert caught.value.pointer == "/0" * MAX_DEPTH


def test_a_pointer_stays_short() -> None:
    problem = refusal(json.dumps({"k" * 10_000: "\0"}).encode())
    assert problem.pointer is not None
    assert len(problem.pointer) <= 512


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda n: b"[" * n, id="openers"),
        pytest.param(lambda n: b'["' + b'\\"' * n, id="escapes"),
        pytest.param(lambda n: b'"' * n, id="quotes"),
        pytest.param(lambda n: b"[" + b"9" * n + b"]", id="digits"),
        pytest.param(lambda n: b"[" + b"1," * n + b"1]", id="items"),
        pytest.param(lambda n: b"[" + b"{}," * n + b"1]", id="objects"),
        pytest.param(lambda n: b" " * n, id="spaces"),
        pytest.param(lambda n: b"1." + b"1" * n, id="fraction"),
    ],
)
def test_the_cost_grows_with_the_size_and_no_faster(make) -> None:
    def cost(size: int) -> float:
        body = make(size)
        started = time.process_time()
        with contextlib.suppress(Problem):
            parse(body, limit=10**8)
        return time.process_time() - started

    small = min(cost(50_000) for _ in range(3))
    large = min(cost(400_000) for _ in range(3))
    assert large < 0.005 + 8 * small * 4  # 8 times the size; quadratic would be 64
