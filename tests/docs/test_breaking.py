"""What counts as breaking a client, and what does not."""

import copy
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.docs import breaking
from tests.docs.breaking import breaks

OLD: Any = yaml.safe_load(
    """
paths:
  /things:
    get:
      operationId: list_things
      parameters:
      - {in: query, name: limit, schema: {type: integer}}
      responses:
        '200':
          content: {application/json: {schema: {$ref: '#/components/schemas/Thing'}}}
    post:
      operationId: make_thing
      requestBody:
        content: {application/json: {schema: {$ref: '#/components/schemas/Make'}}}
      responses: {'201': {description: made}}
components:
  schemas:
    Color: {type: string, enum: [red, blue]}
    Make:
      type: object
      properties: {name: {type: string}, color: {$ref: '#/components/schemas/Color'}}
      required: [name]
    Thing:
      type: object
      properties:
        name: {type: string}
        size: {oneOf: [{type: integer}, {type: 'null'}]}
        parts: {type: array, items: {$ref: '#/components/schemas/Thing'}}
      required: [name]
"""
)
Change = Callable[[Any], object]


def changed(change: Change) -> list[str]:
    new = copy.deepcopy(OLD)
    change(new)
    return breaks(OLD, new)


def schema(new: Any, name: str) -> Any:
    return new["components"]["schemas"][name]


def things(new: Any, method: str = "get") -> Any:
    return new["paths"]["/things"][method]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda new: new["paths"].clear(), "GET /things: removed"),
        (lambda new: new["paths"]["/things"].pop("get"), "GET /things: removed"),
        (
            lambda new: things(new).update(operationId="things"),
            "GET /things: is called things",
        ),
        (
            lambda new: things(new)["parameters"].clear(),
            "GET /things query limit: removed",
        ),
        (
            lambda new: things(new)["parameters"][0].update(required=True),
            "GET /things query limit: required",
        ),
        (
            lambda new: things(new)["parameters"].append(
                {"in": "header", "name": "Key", "required": True, "schema": {}}
            ),
            "GET /things header Key: required",
        ),
        (
            lambda new: things(new)["parameters"][0]["schema"].update(type="string"),
            "GET /things query limit: was integer, is string",
        ),
        (
            lambda new: things(new)["responses"].clear(),
            "GET /things 200: removed",
        ),
        (
            lambda new: things(new, "post").pop("requestBody"),
            "POST /things body: removed",
        ),
        (
            lambda new: things(new, "post")["requestBody"].update(required=True),
            "POST /things body: required",
        ),
        (
            lambda new: schema(new, "Color")["enum"].remove("red"),
            "Color: no 'red' any more",
        ),
        (
            lambda new: schema(new, "Make")["required"].append("color"),
            "Make.color: required",
        ),
        (
            lambda new: schema(new, "Make")["properties"].pop("color"),
            "Make.color: removed",
        ),
        (
            lambda new: schema(new, "Make")["properties"]["name"].update(enum=["a"]),
            "Make.name: only some values any more",
        ),
        (
            lambda new: schema(new, "Thing")["properties"].pop("size"),
            "Thing.size: removed",
        ),
        (
            lambda new: schema(new, "Thing")["properties"]["size"]["oneOf"].pop(0),
            "Thing.size: no integer any more",
        ),
        (
            lambda new: schema(new, "Thing")["required"].clear(),
            "Thing.name: not always there",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_break_is_found(change: Change, said: str) -> None:
    assert said in changed(change)


@pytest.mark.parametrize(
    "change",
    [
        lambda new: None,
        lambda new: new["paths"].update({"/more": {"get": {}}}),
        lambda new: schema(new, "Color")["enum"].append("green"),
        lambda new: schema(new, "Make")["properties"].update(more={"type": "string"}),
        lambda new: schema(new, "Make")["required"].clear(),
        lambda new: schema(new, "Thing")["required"].append("parts"),
        lambda new: things(new)["parameters"].append(
            {"in": "query", "name": "more", "schema": {}}
        ),
    ],
    ids=["same", "path", "value", "member", "optional", "always there", "parameter"],
)
def test_what_only_adds_breaks_nobody(change: Change) -> None:
    assert changed(change) == []


def test_the_description_breaks_nothing_of_itself() -> None:
    described = yaml.safe_load((breaking.ROOT / breaking.DESCRIPTION).read_text())
    assert breaks(described, described) == []
    fewer = copy.deepcopy(described)
    del fewer["paths"]["/api/v1/approvals"]
    assert "POST /api/v1/approvals: removed" in breaks(described, fewer)


def _commit(folder: Path) -> None:
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@keyturn.test")
    for words in (("init", "-q"), ("add", "."), (*who, "commit", "-qm", "First")):
        subprocess.run(["git", *words], cwd=folder, check=True)


def test_a_break_that_is_meant_is_a_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    described = tmp_path / "docs" / "openapi.yaml"
    described.parent.mkdir()
    described.write_text(yaml.safe_dump(OLD))
    _commit(tmp_path)
    described.write_text(yaml.safe_dump({**OLD, "paths": {}}))
    monkeypatch.setattr(breaking, "ROOT", tmp_path)
    lines = tmp_path / "breaks.txt"
    monkeypatch.setattr(breaking, "ALLOWED", lines)
    lines.write_text("# meant\nGET /things: removed\n")
    assert breaking.main("HEAD") == 1
    assert "POST /things: removed\n" in capsys.readouterr().out
    lines.write_text("GET /things: removed\nPOST /things: removed\n")
    assert breaking.main("HEAD") == 0


def test_a_base_that_is_not_there_is_no_success() -> None:
    assert breaking.main("no-such-tag") == 1
