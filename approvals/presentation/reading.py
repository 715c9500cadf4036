"""From posted texts back to arguments, every type kept.

Strict: a field that is missing, or that nobody asked for, is an error; so is a number
that a double would change. What was not edited comes back as the very same value.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import rfc8785

from approvals.presentation.arguments import exact_text
from approvals.presentation.controls import NOTES, controls, reply_controls
from approvals.presentation.edit import Control
from kernel.problems import Problem
from kernel.strict_json import canonical_value, parse

NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")
WANTED = {
    NOTES["integer"]: "Write a whole number, like 12.",
    NOTES["number"]: "Write a number with digits and a point, like 1240.50.",
}
BREAKS = re.compile(r"\r\n?|\n")


@dataclass(frozen=True, slots=True)
class Read:
    """The arguments as the form says them."""

    arguments: Any


@dataclass(frozen=True, slots=True)
class Misread:
    """What is wrong, a sentence per form name; '' for the form as a whole.

    `arguments` are what could be read, with the rest as it was.
    """

    errors: Mapping[str, str]
    arguments: Any = None


class Unreadable(Exception):
    """A posted text is not a value of its control's kind."""


class StillAbsent(Exception):
    """A value that was not there was left empty."""


def read_controls(
    post: Mapping[str, str], arguments: Any, schema: Any = None
) -> Read | Misread:
    """The arguments after an edit by the form of `controls(arguments, schema)`."""
    return read(post, controls(arguments, schema), arguments)


def read_reply(post: Mapping[str, str], schema: Any) -> Read | Misread:
    """The answer given in the form of `reply_controls(schema)`."""
    asked = reply_controls(schema)
    start: Any = None if asked[0].pointer == "" else {}
    return read(post, asked, start)


def read(
    post: Mapping[str, str], asked: Iterable[Control], arguments: Any
) -> Read | Misread:
    """Each control's value put in its place in a copy of the arguments."""
    result, errors = deepcopy(arguments), {}
    fields = editable(asked)
    for one in fields:
        try:
            result = placed(result, one.pointer, value_of(one, post, arguments))
        except Unreadable as wrong:
            errors[one.name] = str(wrong)
        except StillAbsent:
            continue
    known = {name for one in fields for name in (one.name, one.null_name)}
    if any(name.startswith("/") and name not in known for name in post):
        errors[""] = "The form holds a field that this request does not have."
    return Misread(errors, result) if errors else Read(result)


def leaves(asked: Iterable[Control]) -> Iterator[Control]:
    """The controls that hold one value each, in the order of the page."""
    for one in asked:
        match one.kind:
            case "group" | "list":
                yield from leaves(one.children)
            case "table":
                yield from leaves(cell for row in one.rows for cell in row if cell)
            case _:
                yield one


def editable(asked: Iterable[Control]) -> list[Control]:
    """Those of the leaves that are posted."""
    return [one for one in leaves(asked) if one.kind != "fixed"]


def value_of(one: Control, post: Mapping[str, str], arguments: Any) -> Any:
    """One posted value. Raises Unreadable with a sentence, or StillAbsent."""
    if one.nullable and one.null_name in post:
        return None
    text = post.get(one.name, "" if one.absent else None)
    if text is None:
        raise Unreadable("Nothing arrived for this value.")
    if one.absent and text == "":
        return nothing(one)
    if not one.absent and not one.was_null and unbroken(text) == unbroken(one.original):
        return found(arguments, one.pointer)
    return parsed(one, text)


def nothing(one: Control) -> Any:
    if one.required:
        raise Unreadable("This is needed.")
    raise StillAbsent


def unbroken(text: str) -> str:
    """Line breaks as one kind: browsers post CR LF whatever stood in the page."""
    return BREAKS.sub("\n", text)


def parsed(one: Control, text: str) -> Any:
    readers = {"choice": chosen, "number": number, "boolean": boolean}
    return readers.get(one.kind, plain_text)(one, text)


def number(one: Control, text: str) -> Any:
    if not NUMBER.fullmatch(text.strip()):
        raise Unreadable(WANTED[one.note])
    try:
        return parse(text.strip().encode())
    except Problem as refused:
        raise Unreadable(
            "This number would not stay exact. It needs fewer digits."
        ) from refused


def boolean(_: Control, text: str) -> bool:
    if text not in {"true", "false"}:
        raise Unreadable("Choose true or false.")
    return text == "true"


def chosen(one: Control, text: str) -> Any:
    if text not in {value for value, _ in one.choices}:
        raise Unreadable("Choose one of the list.")
    return parse(text.encode())


def plain_text(_: Control, text: str) -> str:
    try:
        canonical_value(text)
    except Problem as refused:
        raise Unreadable(refused.detail) from refused
    return unbroken(text)


def steps(pointer: str) -> list[str]:
    """The keys and positions of a JSON pointer."""
    tokens = pointer.split("/")[1:]
    return [token.replace("~1", "/").replace("~0", "~") for token in tokens]


def inside(value: Any, step: str) -> Any:
    return value[int(step)] if isinstance(value, list) else value[step]


def found(value: Any, pointer: str) -> Any:
    for step in steps(pointer):
        value = inside(value, step)
    return value


def placed(value: Any, pointer: str, new: Any) -> Any:
    """`value` with `new` at the pointer; changes and returns the same containers."""
    if pointer == "":
        return new
    *way, last = steps(pointer)
    holder = value
    for step in way:
        holder = inside(holder, step)
    if isinstance(holder, list):
        holder[int(last)] = new
    else:
        holder[last] = new
    return value


def filled(
    asked: Iterable[Control], post: Mapping[str, str], errors: Mapping[str, str]
) -> tuple[Control, ...]:
    """The same controls as they were posted, each with what is wrong with it."""
    return tuple(refilled(one, post, errors) for one in asked)


def refilled(
    one: Control, post: Mapping[str, str], errors: Mapping[str, str]
) -> Control:
    rows = tuple(
        tuple(cell and refilled(cell, post, errors) for cell in row) for row in one.rows
    )
    return replace(
        one,
        text=retyped(one, post.get(one.name, one.text)),
        null=one.nullable and one.null_name in post,
        error=errors.get(one.name, ""),
        children=filled(one.children, post, errors),
        rows=rows,
    )


def retyped(one: Control, text: str) -> str:
    """What was posted; unless only a browser's line breaks tell it from the original."""
    untouched = unbroken(text) == unbroken(one.original)
    return one.original if untouched and not one.was_null else text


def typed(asked: Iterable[Control], arguments: Any) -> dict[str, str]:
    """What a form of these controls posts where it says `arguments`: `read` backwards."""
    texts: dict[str, str] = {}
    for one in editable(asked):
        try:
            texts |= said(one, found(arguments, one.pointer))
        except (LookupError, TypeError, ValueError):
            continue  # it is not there, or not of this shape
    return texts


def said(one: Control, value: Any) -> dict[str, str]:
    if value is None and one.nullable:
        return {one.null_name: "1"}
    choice = one.kind == "choice"
    return {one.name: rfc8785.dumps(value).decode() if choice else exact_text(value)}


def by_name(
    asked: Iterable[Control], errors: Iterable[Mapping[str, str]]
) -> dict[str, str]:
    """A validator's errors ({pointer, detail}) beside the controls they are about, the
    first of each, in the order of the page.

    What no control can hold is gathered under '', and says which place it is about.
    """
    names = {one.pointer: one.name for one in leaves(asked)}
    sorted_out, whole = dict.fromkeys(names.values(), ""), []
    for error in errors:
        pointer, detail = error["pointer"], error["detail"]
        if pointer in names:
            sorted_out[names[pointer]] = sorted_out[names[pointer]] or detail
        else:
            whole.append(f"{pointer}: {detail}" if pointer else detail)
    told = {name: said for name, said in sorted_out.items() if said}
    return {"": " ".join(whole), **told} if whole else told
