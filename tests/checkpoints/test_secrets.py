"""`secret://name`: filled in at the call, for one tool at one host, and seen nowhere."""

import base64
import json
import logging
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection
from hypothesis import assume, given
from hypothesis import strategies as st

from checkpoints.models import SecretName, Tool
from checkpoints.secrets import (
    NAME,
    Values,
    host_of,
    refuse_unusable,
    values_for,
    variable_of,
)
from checkpoints.services import (
    change_tool,
    register_secret,
    register_tool,
    revoke_secret,
)
from checkpoints.tools import ToolOutcome, ask_status, call
from kernel.ids import new_id
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from tests.chain import kinds_of
from tests.checkpoints.test_calls import tool
from tests.checkpoints.toolserver import ToolServer
from tests.factories import House, fresh_house
from tests.refusals import refused

VALUE = 'canary "ä"/7+Zx' + "9" * 12
TOKEN = "canary-token-5150"


@pytest.fixture
def values(
    house: House, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> str:
    """One value in the environment, one in a file; the tenant's slug."""
    settings.SECRETS_DIR = tmp_path
    slug = house.tenant.slug
    (tmp_path / slug).mkdir()
    (tmp_path / slug / "erp_token").write_text(f"{TOKEN}\n")
    monkeypatch.setenv(variable_of(slug, "bank_pin"), VALUE)
    return slug


def register(house: House, at: Tool, *names: str) -> None:
    for name in names:
        register_secret(tenant_id=house.id, by=house.alice.id, name=name, tool=at.name)


def send(at: Tool, arguments: dict[str, Any]) -> ToolOutcome:
    return call(
        at,
        key=bytes(32),
        effect_id=new_id(),
        attempt=1,
        fence=1,
        not_after=datetime(2027, 1, 1, tzinfo=UTC),
        arguments=arguments,
    )


def plain(house: House, name: str, mode: str = "managed", **more: Any) -> Tool:
    definition = {"url": "https://erp.example/pay", **more}
    if mode == "agent":
        definition = {}
    return register_tool(
        tenant_id=house.id,
        by=house.alice.id,
        name=name,
        mode=mode,
        risk="high",
        definition=definition,
    )


def test_values_reach_the_tool_whole_and_come_back_from_it_as_names(
    house: House,
    values: str,
    toolserver: ToolServer,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    headers = {"Authorization": "Bearer secret://erp_token", "X-Plain": "a secret://x"}
    at = tool(house, toolserver, "echo", headers={**headers, "X-Plain": "plain"})
    register(house, at, "erp_token", "bank_pin")
    asked = {"pin": ["secret://bank_pin"], "note": "not secret://bank_pin at all"}
    outcome = send(at, asked)

    ((_, _, got, body),) = toolserver.requests
    assert got["Authorization"] == f"Bearer {TOKEN}"
    assert got["X-Plain"] == "plain"
    assert json.loads(body) == asked | {"pin": [VALUE]}
    assert outcome.state == "confirmed"
    assert outcome.external_id == "Bearer secret://erp_token"
    assert "secret://bank_pin" in outcome.evidence["body"]
    told = repr(outcome) + caplog.text
    for needle in (VALUE, json.dumps(VALUE)[1:-1], "canary", TOKEN):
        assert needle not in told


def test_the_status_is_asked_with_the_same_headers(
    house: House, values: str, toolserver: ToolServer
) -> None:
    at = tool(house, toolserver, "confirm", headers={"X-Key": "secret://erp_token"})
    register(house, at, "erp_token")
    send(at, {})
    assert ask_status(at, key=bytes(32)).state == "confirmed"
    assert [headers["X-Key"] for _, _, headers, _ in toolserver.requests] == [TOKEN] * 2

    revoke_secret(tenant_id=house.id, by=house.alice.id, name="erp_token")
    assert ask_status(at, key=bytes(32)).evidence["code"] == "secret_unknown"
    assert len(toolserver.requests) == 2


@pytest.mark.parametrize(
    ("arguments", "state", "code"),
    [
        ({"a": "secret://erp_token"}, "failed", "secret_unknown"),
        ({"a": "secret://bank_pin"}, "failed", "secret_of_another_tool"),
        ({"a": "secret://moved"}, "failed", "secret_of_another_host"),
        ({"a": "secret://no_value"}, "absent", "secret_missing"),
        ({"a": "secret://short"}, "absent", "secret_missing"),
    ],
)
def test_what_may_not_be_filled_in_is_not_sent(
    house: House,
    values: str,
    toolserver: ToolServer,
    monkeypatch: pytest.MonkeyPatch,
    arguments: dict[str, Any],
    state: str,
    code: str,
) -> None:
    at = tool(house, toolserver, "confirm")
    register(house, at, "erp_token", "no_value", "short", "moved")
    register(house, plain(house, "another"), "bank_pin")
    revoke_secret(tenant_id=house.id, by=house.alice.id, name="erp_token")
    for name, text in (("short", "7 chars"), ("moved", VALUE)):
        monkeypatch.setenv(variable_of(values, name), text)
    if code == "secret_of_another_host":
        url = at.definition["url"].replace("127.0.0.1", "localhost")
        at.definition = at.definition | {"url": url}
    outcome = send(at, arguments)

    assert toolserver.requests == []
    assert outcome.state == state
    name = arguments["a"].removeprefix("secret://")
    assert outcome.evidence == {"sent": False, "code": code, "secret": name}


def test_a_secret_for_https_is_not_sent_in_clear_to_the_same_port(
    house: House, values: str, toolserver: ToolServer
) -> None:
    clear = tool(house, toolserver, "confirm").definition["url"]
    at = plain(house, "pays", url=clear.replace("http://", "https://"))
    register(house, at, "bank_pin")
    at.definition = at.definition | {"url": clear}
    outcome = send(at, {"a": "secret://bank_pin"})

    assert toolserver.requests == []
    assert outcome.evidence["code"] == "secret_of_another_host"


def test_a_line_break_in_a_value_makes_no_header(
    house: House,
    values: str,
    toolserver: ToolServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    at = tool(house, toolserver, "confirm", headers={"X-Key": "secret://broken"})
    register(house, at, "broken")
    monkeypatch.setenv(variable_of(values, "broken"), "canary-1\r\nHost: evil")
    outcome = send(at, {})
    assert (outcome.state, toolserver.requests) == ("absent", [])
    assert "canary" not in repr(outcome)


def test_names_are_refused_where_they_are_asked_with_their_place(
    house: House,
) -> None:
    pays, other = plain(house, "pays"), plain(house, "other")
    agents = plain(house, "agents", mode="agent")
    register(house, pays, "erp_token")

    def judged(at: Tool, value: Any) -> None:
        with tenant_transaction(house.id):
            refuse_unusable(at, value, pointer="/arguments")

    value = {"a": {"b/c": ["x", "secret://erp_token"]}}
    judged(pays, value)
    judged(agents, {"a": "see secret://erp_token"})
    place = "/arguments/a/b~1c/1"
    with refused("secret_of_another_tool", status=422, pointer=place):
        judged(other, value)
    with refused("secret_needs_managed_tool", status=422, pointer=place):
        judged(agents, value)
    for name in ("", "ERP_TOKEN", "../erp_token", "erp_token ", "unknown"):
        with refused("secret_unknown", status=422, pointer="/arguments/a"):
            judged(pays, {"a": f"secret://{name}"})
    with refused("secret_unknown"):
        judged(plain(fresh_house(), "pays"), {"a": "secret://erp_token"})

    definition = {"url": "http://erp.example/pay"}
    moved = change_tool(
        tenant_id=house.id,
        by=house.alice.id,
        tool_id=pays.id,
        mode="managed",
        risk="high",
        definition=definition,
    )
    with refused("secret_of_another_host", pointer=place):
        judged(moved, value)


def test_a_name_is_registered_by_administrators_once_until_it_is_revoked(
    house: House,
) -> None:
    at = plain(house, "pays")
    who = {"tenant_id": house.id, "by": house.alice.id}
    row = register_secret(**who, name="erp_token", tool="pays", host="ERP.example")
    assert (row.tool_id, row.host) == (at.id, "erp.example")
    with refused("secret_name_taken", status=409):
        register_secret(**who, name="erp_token", tool="pays")
    revoke_secret(**who, name="erp_token")
    assert kinds_of(house.id, row.id) == [
        "secret_name.registered",
        "secret_name.revoked",
    ]
    with refused("not_found"):
        revoke_secret(**who, name="erp_token")
    register_secret(**who, name="erp_token", tool="pays")

    with refused("secret_of_another_host", pointer="/host"):
        register_secret(**who, name="other", tool="pays", host="evil.example")
    with refused("secret_needs_managed_tool", pointer="/tool"):
        register_secret(**who, name="other", tool=plain(house, "a", "agent").name)
    with refused("not_found"):
        register_secret(**who, name="other", tool="nobody")
    for name in ("", "A", "a__b", "a-b", "_a", "a_", "a/b", "a" * 65):
        with refused("secret_name_invalid", pointer="/name"):
            register_secret(**who, name=name, tool="pays")
    for verb in (
        lambda by: register_secret(tenant_id=house.id, by=by, name="x", tool="pays"),
        lambda by: revoke_secret(tenant_id=house.id, by=by, name="erp_token"),
    ):
        with refused("not_permitted", status=403):
            verb(house.bob.id)


def test_a_registered_name_can_only_be_revoked(house: House) -> None:
    plain(house, "pays")
    register(house, Tool(name="pays"), "erp_token")
    for change in (
        "host = 'evil.example'",
        "name = 'other'",
        "tool_id = gen_random_uuid()",
    ):
        with (
            pytest.raises(DatabaseError, match="permission denied"),
            tenant_transaction(house.id),
            connection.cursor() as cursor,
        ):
            cursor.execute(f"UPDATE checkpoints_secretname SET {change}")
    with tenant_transaction(fresh_house().id):
        assert not SecretName.objects.exists()


def test_headers_of_ours_are_not_a_tools_own(house: House) -> None:
    for name in ("Host", "content-length", "Idempotency-Key", "Keyturn-Fence"):
        with refused("tool_invalid", pointer=f"/definition/headers/{name}"):
            plain(house, "pays", headers={name: "x"})
    for text in ("", " x", "a\r\nb", "é"):
        with pytest.raises(Problem, match="tool_invalid"):
            plain(house, "pays", headers={"X-Key": text})


def test_the_command_lists_names_and_asks_for_no_value(
    house: House, values: str, capsys: pytest.CaptureFixture[str]
) -> None:
    plain(house, "pays")
    call_command("secret_name", "add", str(house.id), "bank_pin", "--tool", "pays")
    call_command("secret_name", "add", str(house.id), "other", "--tool", "pays")
    said = capsys.readouterr().out
    assert "secret://bank_pin for pays at erp.example; a value is here" in said
    assert f"set {variable_of(values, 'other')}" in said
    call_command("secret_name", "remove", str(house.id), "bank_pin")
    call_command("secret_name", "remove", str(house.id), "other")
    assert capsys.readouterr().out.splitlines()[-1] == "no secrets"
    with pytest.raises(CommandError, match="not_found"):
        call_command("secret_name", "remove", str(house.id), "other")
    assert "canary" not in said


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://ERP.example/pay", "erp.example"),
        ("https://erp.example:443/", "erp.example"),
        ("https://erp.example:8443/", "erp.example:8443"),
        ("http://ERP.example/", "http://erp.example:80"),
        ("http://erp.example:8443/", "http://erp.example:8443"),
        ("http://erp.example:443/", "http://erp.example:443"),
        ("https://[2001:db8::1]/", "[2001:db8::1]"),
    ],
)
def test_a_host_is_where_a_url_leads(url: str, host: str) -> None:
    assert host_of(url) == host


SLUGS = st.from_regex(r"\A[a-z0-9](?:[a-z0-9-]{0,6}[a-z0-9])?\Z")
NAMES = st.from_regex(NAME, fullmatch=True)


@given(SLUGS, NAMES, SLUGS, NAMES)
def test_no_two_secrets_share_a_variable(
    slug: str, name: str, other_slug: str, other: str
) -> None:
    same = (slug, name) == (other_slug, other)
    assert (variable_of(slug, name) == variable_of(other_slug, other)) is same
    joined = f"{slug}-{name.replace('_', '-')}"
    assert variable_of(joined, other) != variable_of(slug, f"{name}_{other}")


@given(st.text(min_size=8).filter(str.isprintable))
def test_each_usual_form_of_a_value_is_cut_out(value: str) -> None:
    assume(value not in "<secret://a>")  # what stands there afterwards
    values = Values({"a": value})
    for form in (
        value,
        json.dumps(value),
        json.dumps(value, ensure_ascii=False),
        base64.b64encode(value.encode()).decode(),
    ):
        cut = values.cut_out(f"<{form}>".encode()).decode()
        assert form.strip('"') not in cut
        assert "secret://a" in cut


def test_nothing_is_read_where_nothing_is_named(
    house: House, django_assert_num_queries: Any
) -> None:
    at = plain(house, "pays")
    with django_assert_num_queries(0):
        assert values_for(at, "https://erp.example/", {"a": "b"}) == Values()
