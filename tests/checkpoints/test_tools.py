"""Registering tools: by admins, under a digest that covers what was approved."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection

from checkpoints.models import Tool
from checkpoints.services import (
    change_tool,
    disable_tool,
    register_tool,
    register_unreviewed,
)
from checkpoints.tools import check_arguments
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from tenants.checks import Operator
from tenants.principal import Principal
from tenants.verbs import Verb, perform
from tests.chain import kinds_of
from tests.concurrency import together
from tests.factories import House
from tests.refusals import refused

AMOUNT = {"type": "string", "pattern": "^[0-9]+\\.[0-9]{2}$"}
DEFINITION: dict[str, Any] = {
    "description": "Asks a supplier to correct an invoice.",
    "schema": {"type": "object", "properties": {"amount": AMOUNT}},
    "url": "https://erp.example/corrections",
    "status_url": "https://erp.example/corrections/{key}",
    "timeout": 10,
    "settle": 30,
    "attempts": 3,
    "resend": True,
}


def register(house: House, by: Any = None, **change: Any) -> Tool:
    fields: dict[str, Any] = {"name": "erp.correct", "mode": "managed", "risk": "high"}
    fields |= {"definition": DEFINITION, **change}
    return register_tool(tenant_id=house.id, by=by or house.alice.id, **fields)


def change(house: House, tool: Tool, by: Any = None, **fields: Any) -> Tool:
    whole = {"mode": tool.mode, "risk": tool.risk, "definition": tool.definition}
    by = by or house.alice.id
    return change_tool(tenant_id=house.id, by=by, tool_id=tool.id, **whole | fields)


def test_a_tool_is_registered_once_and_on_the_record(house: House) -> None:
    tool = register(house)
    assert (tool.version, tool.reviewed, tool.enabled) == (1, True, True)
    assert kinds_of(house.id, tool.id) == ["tool.registered"]
    with refused("tool_name_taken", status=409):
        register(house)


@pytest.mark.parametrize(
    "changed",
    [
        {"mode": "agent"},
        {"risk": "low"},
        {"definition": {**DEFINITION, "url": "https://erp.example/other"}},
        {"definition": {**DEFINITION, "resend": False}},
        {"definition": {**DEFINITION, "schema": {}}},
    ],
)
def test_each_change_is_a_version_with_a_digest_of_its_own(
    house: House, changed: dict[str, Any]
) -> None:
    tool = register(house)
    before = bytes(tool.digest)
    later = change(house, tool, **changed)

    assert later.version == 2
    assert bytes(later.digest) != before
    assert bytes(change(house, tool, mode="managed").digest)
    assert kinds_of(house.id, tool.id)[:2] == ["tool.registered", "tool.changed"]


def test_names_are_under_the_digest_and_enabling_is_not(house: House) -> None:
    one, other = register(house), register(house, name="erp.correct2")
    assert bytes(one.digest) != bytes(other.digest)
    digest = bytes(one.digest)
    off = disable_tool(tenant_id=house.id, by=house.alice.id, tool_id=one.id)
    assert (off.enabled, bytes(off.digest), off.version) == (False, digest, 1)
    assert change(house, off).enabled


ACTS: dict[str, Callable[[House, Tool, Any], Any]] = {
    "register": lambda house, tool, by: register(house, by, name="x"),
    "change": lambda house, tool, by: change(house, tool, by),
    "disable": lambda house, tool, by: disable_tool(
        tenant_id=house.id, by=by, tool_id=tool.id
    ),
}


@pytest.mark.parametrize("act", ACTS)
def test_only_admins_and_the_console_define_what_agents_can_do(
    house: House, act: str
) -> None:
    tool = register(house)
    with refused("not_permitted", status=403):
        ACTS[act](house, tool, house.bob.id)
    with refused("not_found", status=404):
        ACTS[act](house, tool, house.charlie.id)
    with tenant_transaction(house.id):
        untouched = Tool.objects.get(id=tool.id)
    assert (untouched.version, untouched.enabled) == (1, True)
    ACTS[act](house, tool, Operator.CONSOLE)


def test_another_tenants_tool_is_not_there(house: House) -> None:
    from tests.factories import fresh_house

    foreign = register(fresh_house())
    with refused("not_found", status=404):
        change(house, foreign)


@pytest.mark.parametrize(
    ("pointer", "changed"),
    [
        ("/name", {"name": ""}),
        ("/name", {"name": "erp correct"}),
        ("/name", {"name": "x" * 101}),
        ("/mode", {"mode": "both"}),
        ("/risk", {"risk": "none"}),
        ("/definition", {"definition": {**DEFINITION, "retries": 3}}),
        ("/definition/url", {"definition": {}}),
        ("/definition/url", {"definition": {"url": "erp.example"}}),
        ("/definition/url", {"definition": {"url": "file:///etc/passwd"}}),
        (
            "/definition/status_url",
            {"definition": {"url": "https://x.example", "status_url": "https://x/"}},
        ),
        ("/definition/timeout", {"definition": {**DEFINITION, "timeout": 3600}}),
        (
            "/definition/schema/properties/a/$ref",
            {
                "definition": {
                    **DEFINITION,
                    "schema": {"properties": {"a": {"$ref": "https://x.example"}}},
                }
            },
        ),
    ],
)
def test_what_could_not_work_is_refused_at_its_place(
    house: House, pointer: str, changed: dict[str, Any]
) -> None:
    with pytest.raises(Problem) as problem:
        register(house, **changed)
    assert problem.value.status == 422
    assert problem.value.pointer == pointer


def test_an_agents_own_tool_needs_no_address(house: House) -> None:
    assert register(house, mode="agent", definition={}).definition == {}


def test_a_tool_nobody_registered_is_the_agents_and_high_risk(
    house: House, who: Principal
) -> None:
    tool = register_unreviewed(who, name="mcp__shell__run")
    again = register_unreviewed(who, name="mcp__shell__run")

    assert again.id == tool.id
    assert (tool.mode, tool.risk, tool.reviewed) == ("agent", "high", False)
    assert tool.definition == {}
    assert kinds_of(house.id, tool.id) == ["tool.registered"]
    with refused("tool_invalid", status=422):
        register_unreviewed(who, name="rm -rf /")


def test_eight_who_need_the_same_unknown_tool_get_one(who: Principal) -> None:
    tools = together(*[lambda: register_unreviewed(who, name="shell")] * 8)
    assert len({each.id for each in tools}) == 1  # type: ignore[union-attr]


def test_a_known_tool_is_found_with_its_review(house: House, who: Principal) -> None:
    assert register_unreviewed(who, name=register(house).name).reviewed


def test_registering_waits_for_verbs_that_rely_on_rights(house: House) -> None:
    def registered() -> Tool:
        try:
            return register(house)
        finally:
            connection.close()

    def work(verb: Verb) -> Future[Tool]:
        waiting = pool.submit(registered)
        while not gate_is_waited_for():
            assert not waiting.done()
        return waiting

    with ThreadPoolExecutor(max_workers=1) as pool:
        assert perform(house.id, work).result(timeout=10).name == "erp.correct"


def gate_is_waited_for() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "select exists (select from pg_locks"
            " where locktype = 'advisory' and not granted)"
        )
        return bool(cursor.fetchone()[0])


def test_arguments_are_checked_at_their_place(house: House) -> None:
    tool = register(house)
    check_arguments(tool, {"amount": "240.00"})
    with refused("arguments_invalid", status=422):
        check_arguments(tool, {"amount": 240})
    with pytest.raises(Problem) as problem:
        check_arguments(tool, {"amount": "240"}, pointer="/requests/0/arguments")
    assert problem.value.pointer == "/requests/0/arguments/amount"
    check_arguments(register(house, name="y", mode="agent", definition={}), {"a": 1})
