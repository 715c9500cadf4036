"""Every refusal that the checks can answer with, read from their source.

It understands the few ways in which the code makes one, and raises on any other: then
teach it the new one, so that no code escapes the documentation.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from approvals.checks.beforehand import CLASSES
from approvals.models import Grant

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "approvals" / "checks" / "beforehand.py"  # says each in `CLASSES`
SOURCES = (
    *(one for one in ROOT.glob("approvals/checks/*.py") if one != TABLE),
    ROOT / "checkpoints" / "checks.py",
)
MORE = (ROOT / "checkpoints" / "effects.py",)
# `f"grant_{grant.state}"`: what a grant that is not live can be.
GRANT_STATES = [str(state) for state in Grant.State if state != Grant.State.LIVE]


@dataclass(frozen=True)
class Maker:
    """A function that makes refusals: what it puts before a code, and their class."""

    prefix: str
    klass: str | None


def refusals() -> dict[str, str]:
    """The class of each code."""
    found = dict(
        pair for file in (*SOURCES, *MORE) for pair in _in(ast.parse(file.read_text()))
    )
    assert found
    return found | {f"authority.standing_{code}": CLASSES[code] for code in CLASSES}


def _in(module: ast.Module) -> Iterator[tuple[str, str]]:
    makers = {"Refused": Maker("", None)} | dict(_makers(module))
    inside = {id(call) for _, call in _calls_in_makers(module)}
    for call in _calls(module, frozenset(makers)):
        if id(call) in inside:
            continue
        maker = makers[call.func.id]  # type: ignore[attr-defined]
        klass = maker.klass or _text(call.args[2])
        for code in _codes(module, call.args[0]):
            yield maker.prefix + code, klass


def _makers(module: ast.Module) -> Iterator[tuple[str, Maker]]:
    """`def _refuse(code, reason[, klass]): return Refused(f"authority.{code}", …)`"""
    for function, call in _calls_in_makers(module):
        prefix = _text(call.args[0].values[0])  # type: ignore[attr-defined]
        klass = call.args[2]
        fixed = None if isinstance(klass, ast.Name) else _text(klass)
        yield function.name, Maker(prefix, fixed)


def _calls_in_makers(module: ast.Module) -> Iterator[tuple[ast.FunctionDef, ast.Call]]:
    for function in ast.walk(module):
        if not isinstance(function, ast.FunctionDef):
            continue
        parameters = {one.arg for one in function.args.args}
        for call in _calls(function, frozenset({"Refused"})):
            match call.args[0]:
                case ast.JoinedStr(
                    values=[ast.Constant(), ast.FormattedValue(value=ast.Name(id=name))]
                ) if name in parameters:
                    yield function, call


def _codes(module: ast.Module, given: ast.expr) -> Iterator[str]:
    match given:
        case ast.Constant(value=str(code)):
            yield code
        case ast.JoinedStr(
            values=[
                ast.Constant(value="grant_"),
                ast.FormattedValue(value=ast.Attribute(attr="state")),
            ]
        ):
            yield from (f"grant_{state}" for state in GRANT_STATES)
        case ast.JoinedStr(
            values=[
                ast.Constant(value=str(prefix)),
                ast.FormattedValue(value=ast.Name(id="code")),
            ]
        ):
            yield from (prefix + code for code in _yielded(module))
        case _:
            raise NotImplementedError(f"line {given.lineno}: {ast.unparse(given)}")


def _yielded(module: ast.Module) -> Iterator[str]:
    """`yield "head_moved", "The run went on…"`"""
    for node in ast.walk(module):
        match node:
            case ast.Yield(value=ast.Tuple(elts=[ast.Constant(value=str(code)), _])):
                yield code


def _calls(tree: ast.AST, names: frozenset[str]) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in names:
                yield node


def _text(node: ast.expr) -> str:
    assert isinstance(node, ast.Constant)
    assert isinstance(node.value, str)
    return node.value
