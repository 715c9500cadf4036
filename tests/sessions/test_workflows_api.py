"""Workflows as agents read them: their tenant's, in any version, and never to change."""

from typing import Any

from sessions.models import Run
from sessions.services import define_workflow
from tenants.checks import Operator
from tests.api import Api
from tests.factories import House, fresh_agent, fresh_house

ONE: dict[str, Any] = {"title": "Bills", "stages": {"a": ["b"], "b": []}}
TWO: dict[str, Any] = {**ONE, "fields": {"total": {"provenance": ["tool"]}}}


def define(house: House) -> None:
    for definition in (ONE, TWO):
        define_workflow(
            tenant_id=house.id, by=Operator.CONSOLE, kind="bills", definition=definition
        )


def test_any_agent_of_the_tenant_reads_each_version(house: House, run: Run) -> None:
    define(house)
    api = Api.of(fresh_agent(house.alice, name="colleague"))
    listed = api.get("workflows").json()["items"]
    assert [(one["kind"], one["version"]) for one in listed] == [
        ("bills", 2),
        ("default", 1),
    ]
    now, then = api.get("workflows/bills").json(), api.get("workflows/bills?version=1")
    assert (now["definition"], now["versions"]) == (TWO, [1, 2])
    assert (then.json()["definition"], then.json()["title"]) == (ONE, "Bills")


def test_lists_go_on_where_they_ended(house: House, run: Run) -> None:
    define(house)
    api = Api.of(house.robot)
    first = api.get("workflows?limit=1").json()
    rest = api.get(f"workflows?limit=1&cursor={first['next']}").json()
    kinds = [one["kind"] for part in (first, rest) for one in part["items"]]
    assert (kinds, rest["next"]) == (["bills", "default"], None)


def test_what_is_not_there_or_not_theirs_does_not_exist(house: House) -> None:
    define(house)
    there, elsewhere = Api.of(house.robot), Api.of(fresh_house().robot)
    for api, place in (
        (there, "workflows/bills?version=3"),
        (there, "workflows/bills?version=0"),
        (there, "workflows/other"),
        (elsewhere, "workflows/bills"),
    ):
        assert api.get(place).status_code == 404
    assert elsewhere.get("workflows").json()["items"] == []


def test_agents_change_none(house: House) -> None:
    define(house)
    assert Api.of(house.robot).post("workflows", {"kind": "x"}).status_code == 405
