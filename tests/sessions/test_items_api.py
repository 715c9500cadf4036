"""Items over HTTP: exact bytes whichever way they go, and only once."""

import hashlib

import pytest

from sessions.models import Run, Session
from tests.api import Api
from tests.factories import House
from tests.sessions.test_api import code, said

RAW = r'{"b":1,"a":1.0,"a":-0,"n":1e400,"t":"\u0000\ud800 é","encrypted":"gAA=="}'


@pytest.fixture
def api(house: House) -> Api:
    return Api.of(house.robot)


@pytest.fixture
def items(session: Session) -> str:
    return f"sessions/{session.id}/items"


def add(api: Api, items: str, *texts: str, **more: str) -> None:
    said(api.post(items, f'{{"items": [{", ".join(texts)}]}}', **more), 201)


def test_a_popped_item_is_the_very_bytes_and_comes_again_for_its_key(
    api: Api, items: str
) -> None:
    add(api, items, "1", RAW)
    popped = api.post(f"{items}/pop", Idempotency_Key="pop-1")
    again = api.post(f"{items}/pop", Idempotency_Key="pop-1")

    assert f'"data":{RAW}}}' in popped.content.decode()
    assert again.content == popped.content
    assert again["Idempotent-Replay"] == "true"
    assert said(api.post(f"{items}/pop"))["item"]["data"] == 1
    assert said(api.post(f"{items}/pop")) == {"item": None}
    assert said(api.get(items)) == {"items": [], "more": False}


def test_what_is_stored_for_a_repetition_holds_no_item(
    api: Api, items: str, house: House
) -> None:
    from kernel.scope import tenant_transaction
    from tenants.models import IdempotencyRecord

    add(api, items, '"a canary"')
    api.post(f"{items}/pop", Idempotency_Key="pop-1")
    key = hashlib.sha256(b"pop-1").hexdigest()
    with tenant_transaction(house.id):
        (record,) = IdempotencyRecord.objects.filter(key=key)
    assert "canary" not in record.response


def test_a_refused_pop_is_refused_again(api: Api, items: str, run: Run) -> None:
    for _ in range(2):
        assert code(api.post(f"{items}/pop", Idempotency_Key="k")) == (
            409,
            "branch_held",
        )


def test_older_items_are_read_before_a_position(api: Api, items: str) -> None:
    add(api, items, *map(str, range(1, 6)))
    page = said(api.get(items, limit=2, before=4))
    assert [one["data"] for one in page["items"]] == [2, 3]
    assert page["more"] is True
    assert said(api.get(items, limit=2147483647))["more"] is False


def test_a_branch_is_begun_listed_written_and_read(
    api: Api, items: str, session: Session
) -> None:
    add(api, items, "1", "2")
    place = f"sessions/{session.id}/branches"
    made = said(api.post(place, {"at": 1}), 201)
    assert (made["number"], made["origin"], made["at"]) == (1, 0, 1)
    assert said(api.get(place))["items"] == [made]
    said(api.post(items, {"items": ["b"], "branch": 1}), 201)

    read = said(api.get(items, branch=1))["items"]
    assert [(one["data"], one["branch"]) for one in read] == [(1, 0), ("b", 1)]
    assert code(api.get(items, branch=2)) == (404, "not_found")
    assert code(api.post(items, {"items": [1], "branch": 2})) == (404, "not_found")


def test_a_compacted_history_takes_the_place_of_the_whole(api: Api, items: str) -> None:
    add(api, items, "1", "2")
    body = f'{{"expected_last": 2, "reason": "compacted", "items": [{RAW}]}}'
    added = said(api.post(f"{items}/replace", body), 201)
    assert [one["position"] for one in added["items"]] == [3]
    assert f'"data":{RAW}}}' in api.get(items).content.decode()
    assert code(api.post(f"{items}/replace", body)) == (409, "items_changed")
    assert said(api.post(f"{items}/clear", {"reason": "asked"})) == {"removed": 1}
