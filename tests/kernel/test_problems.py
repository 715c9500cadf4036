"""Problems and outcomes: the two ways of saying no."""

import ast
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

from kernel import strict_json  # noqa: F401  # declares its codes
from kernel.outcome import Passed, Refused
from kernel.problems import Problem, declare, declared

ROOT = Path(__file__).resolve().parents[2]
APPS = [
    "config",
    "oversight",
    "approvals",
    "checkpoints",
    "sessions",
    "tenants",
    "audit",
    "kernel",
]
TEAPOT = declare("test.teapot", status=418, title="Short and stout")


def test_a_problem_is_its_document() -> None:
    problem = TEAPOT("Tip me over.", "/spout", hint=1)
    assert problem.document() == {
        "type": "urn:keyturn:problem:test.teapot",
        "title": "Short and stout",
        "status": 418,
        "detail": "Tip me over.",
        "code": "test.teapot",
        "pointer": "/spout",
        "hint": 1,
    }


def test_the_whole_body_has_a_pointer_and_no_place_has_none() -> None:
    assert TEAPOT("x", "").document()["pointer"] == ""
    assert "pointer" not in TEAPOT("x").document()


def test_extra_members_cannot_disguise_a_problem() -> None:
    problem = Problem("c", 400, "t", "d", None, type="urn:other")
    assert problem.document()["type"] == "urn:keyturn:problem:c"


def test_a_declared_code_is_enough() -> None:
    problem = Problem("test.teapot")
    assert (problem.status, problem.title) == (418, "Short and stout")
    assert problem.detail == "Short and stout."


def test_an_undeclared_code_is_a_mistake() -> None:
    with pytest.raises(LookupError, match=r"test\.unheard"):
        Problem("test.unheard", detail="?")


def test_a_code_means_one_thing() -> None:
    assert declare("test.teapot", status=418, title="Short and stout") == TEAPOT
    with pytest.raises(ValueError, match=r"test\.teapot"):
        declare("test.teapot", status=400, title="Short and stout")


def test_all_codes_are_listed_in_order() -> None:
    codes = [kind.code for kind in declared()]
    assert codes == sorted(codes)
    assert {"body_too_large", "json.syntax", "test.teapot"} <= set(codes)


@pytest.mark.parametrize("outcome", [Passed(), Refused("c", "r", "stop")])
def test_outcomes_are_frozen(outcome: Passed | Refused) -> None:
    with pytest.raises(FrozenInstanceError):
        outcome.detail = {}


def test_every_code_that_is_raised_by_name_has_been_declared() -> None:
    """A name that nobody declared would show only when its refusal is needed."""
    declared_in_source, raised = set(), {}
    for file in (path for app in APPS for path in (ROOT / app).rglob("*.py")):
        for call in ast.walk(ast.parse(file.read_text())):
            match call:
                case ast.Call(
                    func=ast.Name(id="declare"), args=[ast.Constant(value=code), *_]
                ):
                    declared_in_source.add(code)
                case ast.Call(
                    func=ast.Name(id="Problem"), args=[ast.Constant(value=code)]
                ):
                    raised[code] = file
    undeclared = {raised[code] for code in raised if code not in declared_in_source}
    assert raised
    assert undeclared == set()
