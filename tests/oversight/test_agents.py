"""The pages of agents: who answers for them, and keys that are shown once."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from audit.models import Entry
from kernel.clock import database_now
from kernel.ids import new_id
from kernel.scope import tenant_transaction
from tenants.models import Agent, ApiKey, Role, User
from tenants.services import rotate_key
from tests.approvals.stage import Stage, fresh_stage
from tests.approvals.views.browsing import Reader, reader
from tests.factories import fresh_agent, fresh_key, fresh_member
from tests.oversight.administering import HOSTILE, statements, text, turned_away
from tests.refusals import refused

KEY = re.compile(r"kt_[A-Za-z0-9_-]{20,}")
ISSUE = {"act": "issue", "name": "Nightly", "environment": "production"}


@pytest.fixture
def stage() -> Stage:
    return fresh_stage()


@pytest.fixture
def alice(stage: Stage) -> Reader:
    return reader(stage, stage.house.alice)


def path(stage: Stage) -> str:
    return f"agents/{stage.house.robot.agent.id}"


def keys(stage: Stage) -> list[ApiKey]:
    with tenant_transaction(stage.tenant_id):
        return list(ApiKey.objects.order_by("-created_at"))


def opens(secret: str) -> bool:
    client = Client(headers={"Authorization": f"Bearer {secret}"})
    return client.get("/api/v1/runs").status_code != 401


def test_an_agent_is_created_with_somebody_who_answers(
    stage: Stage, alice: Reader
) -> None:
    carol = fresh_member(stage.house.alice, "Carol")
    made = alice.post("agents", {"name": "mailer", "member": str(carol.id)})
    assert made.status_code == 303
    (_, row) = sorted(
        alice.get("agents").context["agents"].rows, key=lambda one: one.name == "mailer"
    )
    assert (row.name, row.state, row.keys) == ("mailer", "on", 0)
    assert row.owners == (str(carol.user),)
    assert made.headers["Location"] == row.href


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({"name": "Not A Slug"}, "name"),
        ({"name": "robot"}, "name"),
        ({"name": ""}, "name"),
        ({"member": ""}, "member"),
    ],
)
def test_what_is_wrong_stands_beside_its_field(
    stage: Stage, alice: Reader, said: dict[str, str], field: str
) -> None:
    typed = {"name": "mailer", "member": str(stage.house.alice.id), **said}
    answer = alice.post("agents", typed)
    form = answer.context["agents"].form
    assert answer.status_code in {409, 422}
    assert list(form.errors) == [field]
    assert form.typed["name"] == typed["name"]
    assert f'id="create-{field}-error"' in text(answer)


def test_a_key_is_shown_once_and_works(stage: Stage, alice: Reader) -> None:
    made = alice.post(path(stage), {**ISSUE, "scopes": "read", "days": "30"})
    assert made.status_code == 200
    assert "no-store" in made.headers["Cache-Control"]
    (secret,) = set(KEY.findall(text(made)))
    assert opens(secret)
    again = alice.get(path(stage))
    assert KEY.findall(text(again)) == []
    newest = again.context["agent"].keys[0]
    assert (newest.name, newest.environment) == ("Nightly", "production")
    assert (newest.scopes, newest.state) == (("read",), "ending")
    with tenant_transaction(stage.tenant_id):
        entry = Entry.objects.get(kind="key.issued", subject_id=newest.id)
    assert secret not in str(entry.data)


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "\u202egnp"}, "name"),
        ({"environment": "No Such"}, "environment"),
        ({"scopes": ""}, "scopes"),
        ({"scopes": "everything"}, "scopes"),
        ({"days": "-1"}, "days"),
        ({"days": "soon"}, "days"),
    ],
)
def test_a_key_that_is_typed_wrongly_is_not_issued(
    stage: Stage, alice: Reader, said: dict[str, str], field: str
) -> None:
    before = len(keys(stage))
    answer = alice.post(path(stage), {**ISSUE, "scopes": "read", **said})
    form = answer.context["agent"].key_form
    assert (answer.status_code, list(form.errors)) == (422, [field])
    assert form.typed["environment"] == said.get("environment", "production")
    assert KEY.findall(text(answer)) == []
    assert len(keys(stage)) == before


def rotate(alice: Reader, key: Any, hours: str) -> Any:
    said = {"act": "rotate", "key": str(key), "hours": hours}
    return alice.post(path(alice.stage), said)


def test_a_rotated_key_works_on_until_its_overlap_is_over(
    stage: Stage, alice: Reader
) -> None:
    robot = stage.house.robot
    made = rotate(alice, robot.key.id, "1")
    (secret,) = set(KEY.findall(text(made)))
    assert opens(secret)
    assert opens(robot.text)
    former, successor = stage.fresh(robot.key), keys(stage)[0]
    left = former.expires_at - database_now() if former.expires_at else None
    assert left is not None
    assert timedelta(minutes=59) < left <= timedelta(hours=1)
    assert successor.scopes == former.scopes
    assert successor.environment == former.environment
    assert successor.created_by_id == stage.house.alice.id
    (shown, _) = made.context["agent"].keys
    assert shown.state == "live"


def test_a_key_rotated_at_once_is_dead_and_has_no_second_successor(
    stage: Stage, alice: Reader
) -> None:
    robot = stage.house.robot
    rotate(alice, robot.key.id, "0")
    assert not opens(robot.text)
    answer = rotate(alice, robot.key.id, "24")
    assert (answer.status_code, "lost_race" in text(answer)) == (409, True)
    assert KEY.findall(text(answer)) == []
    assert len(keys(stage)) == 2


def test_rotating_never_lengthens_a_keys_life(stage: Stage) -> None:
    house = stage.house
    ends = database_now() + timedelta(minutes=5)
    key = fresh_key(house.alice, house.robot.agent, expires_at=ends).key
    issued = rotate_key(
        tenant_id=house.id, by=house.alice.id, key_id=key.id, overlap=timedelta(days=1)
    )
    assert stage.fresh(key).expires_at == ends
    assert issued.key.expires_at is not None
    assert issued.key.expires_at < database_now() + timedelta(minutes=6)


def test_a_reviewer_rotates_nothing(stage: Stage) -> None:
    with refused("not_permitted"):
        rotate_key(
            tenant_id=stage.tenant_id,
            by=stage.bob.id,
            key_id=stage.house.robot.key.id,
            overlap=timedelta(hours=1),
        )
    assert len(keys(stage)) == 1


def test_a_key_is_revoked(stage: Stage, alice: Reader) -> None:
    robot = stage.house.robot
    said = {"act": "revoke", "key": str(robot.key.id)}
    assert alice.post(path(stage), said).status_code == 303
    assert not opens(robot.text)
    assert alice.get(path(stage)).context["agent"].keys[0].state == "revoked"
    assert alice.post(path(stage), said).status_code == 409


def test_owners_are_added_and_ended_but_never_the_last(
    stage: Stage, alice: Reader
) -> None:
    bob, owner = str(stage.bob.id), str(stage.house.alice.id)
    assert (
        alice.post(path(stage), {"act": "add_owner", "member": bob}).status_code == 303
    )
    shown = alice.get(path(stage)).context["agent"]
    assert [one.id for one in shown.owners] == [owner, bob]
    assert bob not in {one.value for one in shown.others}
    alice.post(path(stage), {"act": "end_owner", "member": owner})
    last = alice.post(path(stage), {"act": "end_owner", "member": bob})
    assert (last.status_code, "agent_owner_needed" in text(last)) == (409, True)
    shown = alice.get(path(stage)).context["agent"]
    assert [one.id for one in shown.owners] == [bob]


def test_nobody_chosen_is_said_beside_the_list(stage: Stage, alice: Reader) -> None:
    answer = alice.post(path(stage), {"act": "add_owner", "member": ""})
    assert answer.status_code == 422
    assert 'id="add_owner-member-error"' in text(answer)


def test_what_nobody_offered_does_not_exist(stage: Stage, alice: Reader) -> None:
    for said in (
        {"act": "sing"},
        {"act": "revoke", "key": "x"},
        {"act": "revoke", "key": str(new_id())},
        {"act": "rotate", "key": str(stage.house.robot.key.id), "hours": "9000"},
        {"act": "add_owner", "member": str(new_id())},
        {"act": "end_owner", "member": "x"},
    ):
        assert alice.post(path(stage), said).status_code == 404, said
    assert alice.get(f"agents/{new_id()}").status_code == 404


def test_only_administrators_look(stage: Stage, alice: Reader) -> None:
    turned_away(alice, "agents", "")
    turned_away(alice, path(stage), "issue", "rotate", "revoke", "add_owner")
    admin = fresh_member(stage.house.alice, "Ada", role=Role.ADMIN)
    assert reader(stage, admin).get(path(stage)).status_code == 200


def test_another_tenants_are_not_there(stage: Stage) -> None:
    other = fresh_stage()
    theirs = reader(other, other.house.alice)
    assert theirs.get(path(stage)).status_code == 404
    key = str(stage.house.robot.key.id)
    for said in (
        {**ISSUE, "scopes": "read"},
        {"act": "revoke", "key": key},
    ):
        assert theirs.post(path(stage), said).status_code == 404
    own = f"agents/{other.house.robot.agent.id}"
    for act in ("revoke", "rotate"):
        said = {"act": act, "key": key, "hours": "1"}
        assert theirs.post(own, said).status_code == 404
    assert opens(stage.house.robot.text)


def test_names_are_inert(stage: Stage, alice: Reader) -> None:
    user = User.objects.get(id=stage.house.alice.user.id)
    user.name = HOSTILE
    with tenant_transaction(stage.tenant_id):
        user.save(update_fields=["name"])
    fresh_key(stage.house.alice, stage.house.robot.agent)
    for where in ("agents", path(stage)):
        assert HOSTILE not in alice.get(where).content.decode()


def test_many_cost_no_more_statements_than_one(stage: Stage, alice: Reader) -> None:
    few = [statements(alice, where) for where in ("agents", path(stage))]
    for name in ("one", "two", "three"):
        fresh_agent(stage.house.alice, name=name)
        fresh_key(stage.house.alice, stage.house.robot.agent)
    assert [statements(alice, where) for where in ("agents", path(stage))] == few


def test_pages_go_on_where_the_last_one_ended(stage: Stage, alice: Reader) -> None:
    with tenant_transaction(stage.tenant_id):
        Agent.objects.bulk_create(
            Agent(tenant_id=stage.tenant_id, name=f"a-{number:03}")
            for number in range(60)
        )
    first = alice.get("agents").context["agents"]
    query = first.pages.next_href.partition("?")[2]
    second = alice.get(f"agents?{query}").context["agents"]
    names = [row.name for row in (*first.rows, *second.rows)]
    assert (len(names), names) == (61, sorted(set(names)))
    assert alice.get("agents?after=%00").status_code == 200


def test_the_last_use_of_a_key_shows_beside_it(stage: Stage, alice: Reader) -> None:
    robot = stage.house.robot
    idle = fresh_key(stage.house.alice, robot.agent).key
    (listed,) = alice.get("agents").context["agents"].rows
    assert listed.used_at is None
    assert opens(robot.text)
    (listed,) = alice.get("agents").context["agents"].rows
    assert listed.used_at is not None
    keys = {row.id: row for row in alice.get(path(stage)).context["agent"].keys}
    assert keys[str(robot.key.id)].used_at == listed.used_at
    assert keys[str(idle.id)].used_at is None
