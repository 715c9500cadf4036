"""A tenant's own shapes of credentials: refused and cut out there, and nowhere else."""

import time
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError
from hypothesis import given
from hypothesis import strategies as st

from kernel.scope import current_scope, tenant_transaction
from kernel.secrets import find_secret, shape_of
from sessions.models import Fact
from sessions.redaction import redacted
from tenants.models import SecretPattern
from tenants.patterns import CHARACTERS
from tenants.services.patterns import add_secret_pattern, remove_secret_pattern
from tests.api import Api
from tests.approvals.stage import ARGUMENTS, fresh_stage
from tests.chain import kinds_of
from tests.factories import House, fresh_house
from tests.refusals import refused

TOKEN = "hps-" + "AB12" * 4
SHAPE: dict[str, Any] = {
    "kind": "halden key",
    "prefix": "hps-",
    "alphabet": "upper",
    "least": 16,
}


def add(house: House, by: Any = None, **change: Any) -> SecretPattern:
    by = by or house.alice.id
    return add_secret_pattern(tenant_id=house.id, by=by, **SHAPE | change)


def found(house: House, text: str) -> str | None:
    with tenant_transaction(house.id):
        secret = find_secret(text)
    return secret.kind if secret else None


def test_every_door_knows_it_at_once_and_no_other_tenant_does() -> None:
    stage, other = fresh_stage(), fresh_stage()
    add(stage.house)
    api = Api.of(stage.house.robot)
    body = {"tool": "pay", "arguments": ARGUMENTS | {"payee": f"To {TOKEN}"}}

    said = api.post("approvals", body).json()
    assert (said["code"], said["pointer"]) == (
        "secret_in_arguments",
        "/arguments/payee",
    )
    assert "halden key" in said["detail"]
    assert Api.of(other.house.robot).post("approvals", body).status_code == 201

    run = stage.run()
    header = {"markers": {"note": TOKEN}}
    position = {"parent": None, "schema_version": 1, "payload": "{}", "header": header}
    answer = api.post(f"runs/{run.id}/checkpoints", position, fence=run.fence)
    assert answer.json()["code"] == "secret_in_arguments"
    claim = {"value": TOKEN, "provenance": "user", "reference": "said"}
    facts = {"facts": {"note": claim}, "reason": f"Told {TOKEN}"}
    answer = api.post(
        f"runs/{run.id}/transitions", facts, fence=run.fence, If_Match='"0"'
    )
    assert answer.status_code in {200, 201}, answer.content
    with tenant_transaction(stage.tenant_id):
        value = Fact.objects.get(run=run).value
    assert value.startswith("[redacted: halden key, ")
    items = {"items": [{"role": "user", "content": f"It is {TOKEN}"}]}
    assert api.post(f"sessions/{run.session_id}/items", items).status_code == 201
    context = api.get(f"runs/{run.id}/context", max_tokens=8_000).content.decode()
    assert TOKEN not in context
    assert context.count("[redacted: halden key") >= 2


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (TOKEN, "halden key"),
        (f"<{TOKEN}>", "halden key"),
        (f"x{TOKEN}", None),
        (f"{TOKEN}a", None),
        (TOKEN[:-1], None),
        (TOKEN.lower(), None),
        ("HPS-" + TOKEN[4:], None),
        ("hps.", None),
    ],
)
def test_it_is_exactly_that_long_and_stands_alone(
    house: House, text: str, kind: str | None
) -> None:
    add(house)
    assert found(house, text) == kind


def test_it_ends_when_it_is_removed_and_both_are_on_the_record(house: House) -> None:
    row = add(house)
    with refused("already_so", status=409):
        add(house, prefix="other")
    with refused("not_permitted", status=403):
        add(house, by=house.bob.id, kind="another")
    with refused("not_permitted", status=403):
        remove_secret_pattern(tenant_id=house.id, by=house.bob.id, kind="halden key")
    assert found(house, TOKEN) == "halden key"
    remove_secret_pattern(tenant_id=house.id, by=house.alice.id, kind="halden key")
    assert found(house, TOKEN) is None
    assert kinds_of(house.id, row.id) == [
        "secret_pattern.added",
        "secret_pattern.removed",
    ]
    with refused("not_found", status=404):
        remove_secret_pattern(tenant_id=house.id, by=house.alice.id, kind="halden key")


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"kind": ""}, "/kind"),
        ({"kind": "Key"}, "/kind"),
        ({"kind": "abcdefghijk"}, "/kind"),
        ({"kind": "private key]"}, "/kind"),
        ({"prefix": "ab"}, "/prefix"),
        ({"prefix": "(a+)+"}, "/prefix"),
        ({"prefix": "a" * 33}, "/prefix"),
        ({"alphabet": "a-z"}, "/alphabet"),
        ({"least": 7}, "/least"),
        ({"most": 15}, "/least"),
        ({"most": 257}, "/least"),
    ],
)
def test_what_is_too_broad_or_too_long_is_refused(
    house: House, change: dict[str, Any], pointer: str
) -> None:
    with refused("secret_pattern_invalid", status=422, pointer=pointer):
        add(house, **change)


def test_a_tenant_has_fifty_at_most_and_the_database_bounds_each(house: House) -> None:
    for number in range(50):
        with tenant_transaction(house.id):
            fields = SHAPE | {"kind": f"k {number}", "most": 16}
            SecretPattern.objects.create(tenant_id=house.id, **fields)
    with refused("secret_pattern_invalid"):
        add(house)
    other = fresh_house()
    with pytest.raises(IntegrityError), tenant_transaction(other.id):
        SecretPattern.objects.create(tenant_id=other.id, **SHAPE | {"most": 300})


@given(
    st.from_regex(r"[a-z0-9]{1,10}( [a-z0-9]{1,10}){0,3}", fullmatch=True),
    st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.-]{2,31}", fullmatch=True),
    st.sampled_from(sorted(CHARACTERS)),
)
def test_no_mark_is_taken_for_a_credential(kind: str, prefix: str, name: str) -> None:
    shape = shape_of(kind, prefix, CHARACTERS[name], 8, 256)
    assert shape.pattern.search(f"[redacted: {kind}, 0a1b2c3d]") is None


@pytest.mark.parametrize("name", sorted(CHARACTERS))
def test_the_worst_text_costs_little(name: str) -> None:
    shape = shape_of("k", "a.a", CHARACTERS[name], 8, 256)
    began = time.process_time()
    assert shape.pattern.search("a." * 50_000 + "_") is None
    assert shape.pattern.search("a.a0" * 25_000 + "_") is None
    assert time.process_time() - began < 2


def test_outside_a_scope_there_are_none_of_anybody(house: House) -> None:
    add(house)
    assert find_secret(TOKEN) is None
    with tenant_transaction(house.id):
        assert redacted(TOKEN)[1] == ["halden key"]
    assert current_scope() is None


def test_the_command_adds_lists_and_removes(
    house: House, capsys: pytest.CaptureFixture[str]
) -> None:
    shape = ("--prefix", "hps-", "--alphabet", "upper", "--least", "16")
    call_command("secret_pattern", "add", str(house.id), "halden key", *shape)
    said = capsys.readouterr().out
    assert said == "halden key: hps- and 16 to 16 of upper\n"
    call_command("secret_pattern", "remove", str(house.id), "halden key")
    assert capsys.readouterr().out == "no patterns of its own\n"
    with pytest.raises(CommandError, match="not_found"):
        call_command("secret_pattern", "remove", str(house.id), "halden key")
