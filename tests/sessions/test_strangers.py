"""What an agent's sessions and runs are to strangers: nothing, at every address."""

import json
from hashlib import sha256
from typing import Any

import pytest

from kernel.ids import new_id
from tests.api import Answer, Api
from tests.factories import House, fresh_agent, fresh_house
from tests.sessions.test_api import WRITES, api, run_id, said, session_id

__all__ = ["api", "run_id", "session_id"]

FILE = {"total": "12.50"}
FOUND = (
    f"sessions/{{session}}/artifacts/{sha256(json.dumps(FILE).encode()).hexdigest()}"
)
ROUTES: list[tuple[str, str, Any]] = [
    ("get", "sessions/{session}/artifacts", None),
    ("post", "sessions/{session}/artifacts", FILE),
    ("get", FOUND, None),
    ("get", f"{FOUND}/content", None),
    ("post", f"{FOUND}/remove", {}),
    ("get", "sessions/{session}", None),
    ("get", "sessions/{session}/items", None),
    ("post", "sessions/{session}/items", {"items": [1]}),
    ("post", "sessions/{session}/items/pop", {}),
    ("post", "sessions/{session}/items/clear", {}),
    ("post", "sessions/{session}/items/replace", {"items": [1]}),
    ("get", "sessions/{session}/branches", None),
    ("post", "sessions/{session}/branches", {}),
    ("post", "sessions/{session}/runs", {}),
    ("get", "runs/{run}", None),
    ("post", "runs/{run}/claim", {}),
    *(("post", f"runs/{{run}}/{verb}", body) for verb, body in WRITES.values()),
    ("get", "runs/{run}/transitions", None),
    ("get", "runs/{run}/state", None),
    ("get", "runs/{run}/state/diff", None),
    ("get", "runs/{run}/checkpoints/head", None),
    ("get", "runs/{run}/checkpoints/1", None),
    ("post", "runs/{run}/checkpoints/head/restore", {}),
    ("post", "runs/{run}/checkpoints/1/restore", {}),
    ("post", "runs/{run}/checkpoints/1/fork", {"reason": "Look again."}),
]
LISTS = ["sessions", "runs"]


@pytest.mark.parametrize(("method", "path", "body"), ROUTES)
def test_to_a_stranger_it_is_as_if_there_were_nothing(
    api: Api,
    house: House,
    session_id: str,
    run_id: str,
    method: str,
    path: str,
    body: Any,
) -> None:
    verb, saved = WRITES["checkpoints"]
    said(api.post(f"runs/{run_id}/{verb}", saved, fence=1), 201)
    said(api.post(f"sessions/{session_id}/artifacts", FILE), 201)
    before = said(api.get(f"runs/{run_id}"))
    for stranger in (
        Api.of(fresh_agent(house.alice, name="other")),
        Api.of(fresh_house().robot),
    ):
        theirs = _call(stranger, method, path, body, session_id, run_id)
        nobodys = _call(stranger, method, path, body, str(new_id()), str(new_id()))
        assert theirs.status_code == nobodys.status_code == 404
        assert theirs.content == nobodys.content
        assert _headers(theirs) == _headers(nobodys)
    after = said(api.get(f"runs/{run_id}"))
    assert {**after, "facts": {}} == {**before, "facts": {}}


def _headers(answer: Answer) -> dict[str, str]:
    return {**answer.headers, "X-Request-ID": "differs for every request"}


def _call(
    api: Api, method: str, path: str, body: Any, session: str, run: str
) -> Answer:
    place = path.format(session=session, run=run)
    return api.get(place) if method == "get" else api.post(place, body, fence=1)


@pytest.mark.parametrize("path", LISTS)
def test_a_strangers_lists_are_empty(house: House, run_id: str, path: str) -> None:
    for stranger in (
        Api.of(fresh_agent(house.alice, name="other")),
        Api.of(fresh_house().robot),
    ):
        assert said(stranger.get(path))["items"] == []


def test_every_address_of_a_run_or_session_is_in_the_strangers_matrix() -> None:
    import checkpoints.urls
    import sessions.urls

    patterns = [*sessions.urls.urlpatterns, *checkpoints.urls.urlpatterns]
    known = {
        (method, _shape(path.format(session="<uuid:id>", run="<uuid:id>")))
        for method, path, _ in ROUTES
    }
    known |= {("get", path) for path in LISTS} | {("post", "sessions")}
    known |= {("get", "effects/<uuid:id>")}  # in the tests of effects
    # A tenant's own, whichever agent asks: in the tests of workflows.
    known |= {("get", "workflows"), ("get", "workflows/<slug:name>")}
    for pattern in patterns:
        view: Any = pattern.callback.view_class  # type: ignore[attr-defined]
        for method in ("get", "post", "put", "patch", "delete"):
            if hasattr(view, method):
                place = str(pattern.pattern).removeprefix("api/v1/")
                assert (method, _shape(place)) in known


def _shape(path: str) -> str:
    digest = sha256(json.dumps(FILE).encode()).hexdigest()
    return path.replace("<positive:number>", "1").replace("<sha256:digest>", digest)
