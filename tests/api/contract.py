"""The OpenAPI document, asked about one door: what it takes, answers and refuses."""

import re
from functools import cache
from typing import Any

from drf_spectacular.generators import SchemaGenerator
from jsonschema import Draft202012Validator

from tests.api.door import PREFIX, Door

BINARY = {"type": "string", "format": "binary"}
PROBLEM = "application/problem+json"


@cache
def document() -> dict[str, Any]:
    made: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)
    return made


def operation(door: Door) -> dict[str, Any]:
    """What is said of the door."""
    place = re.sub(r"<\w+:(\w+)>", r"{\1}", door.route)
    path = document()["paths"][f"/{PREFIX}/{place}"]
    found: dict[str, Any] = path[door.method]
    return found


def parameters(door: Door, where: str) -> set[str]:
    """The names of its parameters: in `path`, `query` or `header`."""
    given = operation(door).get("parameters", ())
    return {each["name"] for each in given if each["in"] == where}


@cache
def refusals(door: Door) -> set[tuple[int, str]]:
    """(status, code) of each refusal that is listed."""
    return {
        (int(status), code)
        for status, answer in operation(door)["responses"].items()
        if status != "default" and int(status) >= 400
        for code in answer["content"][PROBLEM]["examples"]
    }


def body_flaw(door: Door, body: Any) -> str:
    """Why the document would not let this body be sent; empty if it would."""
    said = operation(door).get("requestBody")
    return _flaw(said["content"]["application/json"]["schema"], body) if said else ""


def answer_flaw(door: Door, answer: Any) -> str:
    """Why the document does not expect this answer; empty if it does."""
    said = operation(door)["responses"].get(str(answer.status_code))
    if said is None:
        return f"{answer.status_code} is not described"
    kind = answer["Content-Type"].partition(";")[0]
    schema = said["content"][kind]["schema"]
    if door.gives_file:
        return "" if schema == BINARY else f"a file is described as {schema}"
    return _flaw(schema, answer.json())


def _flaw(schema: dict[str, Any], value: Any) -> str:
    whole = {**schema, "components": document()["components"]}
    error = next(Draft202012Validator(whole).iter_errors(value), None)
    return f"{error.message[:300]} at {error.json_path}" if error else ""
