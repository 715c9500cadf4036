"""Bounds as a selector: the same actions and no others, where that can be said. Pure."""

import json
import re
from collections.abc import Iterable
from typing import Any, Final

from approvals.policy.beforehand import Constraint
from approvals.policy.selector import MOST_CHARACTERS

PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def selector_of(
    tool: str, agent: str, environment: str, constraints: Iterable[Constraint]
) -> str:
    """With every bound; without them, where there is no room or no words for one."""
    about = (("tool", tool), ("agent", agent), ("environment", environment))
    said = [f"{name} == {_literal(text)}" for name, text in about]
    bounds = [_bound(one) for one in constraints]
    whole = " && ".join([*said, *filter(None, bounds)])
    fits = None not in bounds and len(whole) <= MOST_CHARACTERS
    return whole if fits else " && ".join(said)


def _bound(one: Constraint) -> str | None:
    place, given = _place(one.path), one.given
    if place is None:
        return None
    if one.kind == "between":
        least, most = (_number(given[name]) for name in ("least", "most"))
        return f"double({place}) >= {least} && double({place}) <= {most}"
    values = given["values"] if one.kind == "one_of" else [given.get("value")]
    if one.kind == "prefix" or not all(map(_is_scalar, values)):
        return None
    texts = [_literal(value) for value in values]
    return (
        f"{place} == {texts[0]}"
        if len(texts) == 1
        else f"{place} in [{', '.join(texts)}]"
    )


def _place(path: str) -> str | None:
    names = path.split("/")[1:]
    if not names or not all(PLAIN.fullmatch(name) for name in names):
        return None
    return ".".join(["arguments", *names])


def _number(value: Any) -> str:
    text = str(value)
    return text if "." in text else f"{text}.0"


def _is_scalar(value: Any) -> bool:
    return value is None or isinstance(value, str | bool | int | float)


def _literal(value: Any) -> str:
    """A JSON scalar is one of the language as well; characters stay as they are."""
    return json.dumps(value, ensure_ascii=False)
