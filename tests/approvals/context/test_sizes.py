"""Large items: nobody's page waits for them, and none is shown that was not looked through."""

import json
from typing import Any

import pytest

from approvals.pages.case import talk
from kernel import secrets
from tests.api import Api
from tests.approvals.stage import Stage, fresh_stage
from tests.approvals.views.browsing import reader

SECRET = "ghp_" + "a1B2c3D4e5F6" * 3
LARGE = "token=aaaaaaaaaaaaaaa " * 60_000 + SECRET


@pytest.fixture
def stage() -> Stage:
    return fresh_stage()


@pytest.fixture
def scanned(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many characters each search for credentials went through."""
    sizes: list[int] = []
    real = secrets._in_text

    def counted(text: str) -> Any:
        sizes.append(len(text))
        return real(text)

    monkeypatch.setattr(secrets, "_in_text", counted)
    return sizes


def said(content: str) -> dict[str, str]:
    return {"role": "user", "content": content}


def test_a_large_item_is_not_looked_through_not_shown_and_told_of(
    stage: Stage, scanned: list[int]
) -> None:
    api, run = Api.of(stage.house.robot), stage.run()
    items = {"items": [said("Before it."), said(LARGE), said("After it.")]}
    assert api.post(f"sessions/{run.session_id}/items", items).status_code == 201
    request = stage.ask(stage.fresh(run))
    scanned.clear()

    page = reader(stage).get(f"queue/{request.id}")
    assert page.status_code == 200
    texts = [row.text for row in page.context["case"].talk]
    size = len(json.dumps(said(LARGE)).encode())
    assert "Item 2 is not shown" in texts[0]
    assert f"{size // 1000:,}" in texts[0]
    assert texts[1:3] == ["Before it.", "After it."]

    context = api.get(f"runs/{run.id}/context")
    assert context.status_code == 200
    (gone,) = [one for one in context.json()["dropped"] if one["key"] == "item:2"]
    assert gone["why"].startswith("too large to be looked through: ")
    for answer in (page, context):
        text = answer.content.decode()
        assert "After it." in text
        assert "token=aaaa" not in text
        assert SECRET not in text
    assert sum(scanned) < len(LARGE) / 10


def test_many_items_are_looked_through_up_to_a_sum(
    stage: Stage, scanned: list[int]
) -> None:
    api, run = Api.of(stage.house.robot), stage.run()
    for n in range(3):
        many = [said(f"{n}-{k} " + "lorem " * 18_000) for k in range(8)]
        added = api.post(f"sessions/{run.session_id}/items", {"items": many})
        assert added.status_code == 201
    request = stage.ask(stage.fresh(run))
    scanned.clear()
    page = reader(stage).get(f"queue/{request.id}")
    texts = [row.text for row in page.context["case"].talk]
    assert texts[0].startswith("What was said before these items")
    assert 2 <= len(texts) <= 6
    assert texts[-1].startswith("2-7 ")
    assert sum(scanned) <= 2 * talk.MOST_BYTES + 100_000
    scanned.clear()
    context = api.get(f"runs/{run.id}/context").json()
    assert any(one["key"] == "item:1" for one in context["dropped"])
    assert sum(scanned) < 4 * 1024 * 1024


def test_a_page_of_items_ends_early_and_is_gone_on_with(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sessions.api import items as door

    monkeypatch.setattr(door, "MOST_BYTES", 25_000)
    api, run = Api.of(stage.house.robot), stage.run()
    where = f"sessions/{run.session_id}/items"
    texts = [f"{n} " + "x" * 10_000 for n in range(5)] + ["y" * 60_000, "z"]
    assert api.post(where, {"items": texts}).status_code == 201
    found: list[Any] = []
    sizes: list[int] = []
    asked: dict[str, Any] = {}
    while True:
        page = api.get(where, **asked).json()
        found = [one["data"] for one in page["items"]] + found
        sizes.append(len(page["items"]))
        if not page["more"]:
            break
        asked = {"before": page["items"][0]["position"]}
    assert found == texts
    assert sizes == [1, 1, 2, 2, 1]
    assert api.get(where, limit=0).json() == {"items": [], "more": True}
