"""Nobody sees, or learns of, what is not theirs."""

from collections.abc import Iterator
from typing import Any, Final
from uuid import UUID

import httpx

from checkpoints.models import Effect
from kernel.ids import new_id
from kernel.scope import tenant_transaction
from oversight.drills.doors import Door
from oversight.drills.house import House
from oversight.drills.incident import incident
from oversight.drills.incidents.authority import redeemed
from oversight.drills.scene import Scene
from tenants.services import create_agent, issue_key

FENCED: Final = {"Keyturn_Fence": "1"}
POSITION: Final[dict[str, Any]] = {
    "parent": None,
    "schema_version": 1,
    "payload": "",
    "header": {},
}
ASKED: Final = {"tool": "act", "arguments": {"payee": "Me", "amount": "1.00"}}


@incident(
    "session-isolation",
    "Another agent, another tenant and a member without rights: all get the same 404",
)
def session_isolation(scene: Scene) -> None:
    house, other = scene.house(), scene.house()
    house.agent_tool()
    run = house.run()
    request = house.approved(run)
    scene.equal("it is redeemed", redeemed(house, request), "started")
    with tenant_transaction(house.id):
        effect = Effect.objects.get(request=request.id)
    known = {
        "session": run.session_id,
        "run": run.id,
        "approval": request.id,
        "effect": effect.id,
    }
    url = scene.ground.url
    strangers = {
        "another agent of the tenant": Door.of_agent(url, _second_agent(house)),
        "an agent of another tenant": Door.of_agent(url, other.key.text),
    }
    for name, door in strangers.items():
        _check_agent(scene, name, door, known)
    _check_members(scene, house, other, known)
    owner = Door.of_agent(url, house.key.text)
    mine = owner.get(f"/api/v1/approvals/{request.id}")
    scene.equal("its own agent sees it", mine.status_code, 200)


def _check_agent(scene: Scene, who: str, door: Door, known: dict[str, UUID]) -> None:
    doors = 0
    nothing = {name: new_id() for name in known}
    for (method, path, body), absent in zip(
        _agents_doors(known), _agents_doors(nothing), strict=True
    ):
        found = door.call(method, path, body, **FENCED)
        wanted = door.call(absent[0], absent[1], absent[2], **FENCED)
        _check_same(scene, f"{who}: {method} {path}", found, wanted)
        doors += 1
    scene.note(who, f"404 at {doors} doors, as for what does not exist")


def _check_same(
    scene: Scene, where: str, found: httpx.Response, wanted: httpx.Response
) -> None:
    scene.equal(f"{where} is not found", found.status_code, 404)
    scene.equal(f"{where} tells nothing", found.content, wanted.content)


def _agents_doors(ids: dict[str, UUID]) -> Iterator[tuple[str, str, Any]]:
    run = f"/api/v1/runs/{ids['run']}"
    approval = f"/api/v1/approvals/{ids['approval']}"
    yield "GET", f"/api/v1/sessions/{ids['session']}", None
    yield "GET", f"/api/v1/sessions/{ids['session']}/items", None
    yield "POST", f"/api/v1/sessions/{ids['session']}/runs", {}
    yield "GET", run, None
    yield "POST", f"{run}/claim", {}
    yield "POST", f"{run}/heartbeat", {}
    yield "POST", f"{run}/complete", {}
    yield "GET", f"{run}/transitions", None
    yield "GET", f"{run}/checkpoints/head", None
    yield "POST", f"{run}/pause", {"checkpoint": POSITION, "requests": [ASKED]}
    yield "GET", approval, None
    yield "POST", f"{approval}/withdraw", {"reason": "Mine."}
    yield "POST", f"{approval}/revise", {"arguments": {}}
    yield "POST", f"{approval}/redeem", {}
    yield "GET", f"/api/v1/effects/{ids['effect']}", None
    yield (
        "POST",
        f"/api/v1/effects/{ids['effect']}/report",
        {"attempt": 1, "outcome": "confirmed"},
    )


def _check_members(
    scene: Scene, house: House, other: House, known: dict[str, UUID]
) -> None:
    url, slug = scene.ground.url, house.tenant.slug
    people = {
        "a member without rights": Door.of_member(url, house, house.dave),
        "a member of another tenant": Door.of_member(url, other, other.bob),
    }
    body = {"verdict": "approve", "digest": "0" * 64}
    for who, door in people.items():
        at = f"/api/v1/approvals/{known['approval']}/decisions"
        absent = f"/api/v1/approvals/{new_id()}/decisions"
        found, wanted = door.post(at, body), door.post(absent, body)
        _check_same(scene, f"{who}: deciding", found, wanted)
        for page in (f"runs/{known['run']}", f"queue/{known['approval']}"):
            seen = door.get(f"/t/{slug}/{page}").status_code
            scene.equal(f"{who}: {page}", seen, 404)
        scene.note(who, "404 in the browser, and nothing to decide")


def _second_agent(house: House) -> str:
    agent = create_agent(
        tenant_id=house.id, by=house.by, name="other-agent", owners=[house.by]
    )
    issued = issue_key(
        tenant_id=house.id,
        by=house.by,
        agent_id=agent.id,
        name="Drill",
        environment="test",
    )
    return issued.text
