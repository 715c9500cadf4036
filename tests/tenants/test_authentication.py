"""Who asks is proved anew on every request, and nothing is told to strangers."""

from datetime import datetime
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from kernel.clock import database_now
from kernel.ids import new_id
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from tenants import keys
from tenants.authentication import authenticate_key
from tenants.models import KeyUse
from tenants.services import (
    deactivate_member,
    disable_agent,
    enable_agent,
    revoke_key,
    start_tenant,
    stop_tenant,
)
from tenants.services.credentials import USE_NOTED_EVERY
from tests.concurrency import impatient, locked_by_another
from tests.factories import House, Machine, fresh_key

pytestmark = pytest.mark.urls("tests.tenants.probe")
WHOAMI = "/api/v1/whoami"
PERSON = "/api/v1/person"


def problem(response: Any, status: int, code: str) -> dict[str, Any]:
    assert response.status_code == status, response.content
    assert response["Content-Type"] == "application/problem+json"
    document: dict[str, Any] = response.json()
    assert (document["status"], document["code"]) == (status, code)
    return document


def test_a_key_names_its_agent(house: House) -> None:
    response = house.robot.client().get(WHOAMI)
    assert response.json() == {"agent": str(house.robot.agent.id)}
    principal = authenticate_key(f"Bearer {house.robot.text}")
    assert principal == house.robot.principal


def test_without_a_key_one_is_asked_for() -> None:
    response = Client().get(WHOAMI)
    problem(response, 401, "not_authenticated")
    assert response["WWW-Authenticate"].startswith("Bearer")


@pytest.mark.parametrize("header", ["", "Basic YTpi", "kt_test", "Token kt_x_y_z"])
def test_another_scheme_is_not_a_key(header: str) -> None:
    problem(
        Client(headers={"Authorization": header}).get(WHOAMI), 401, "not_authenticated"
    )


def test_what_is_no_key_of_ours_always_gets_the_same_answer(house: House) -> None:
    typo = house.robot.text[:-1] + ("0" if house.robot.text[-1] != "0" else "1")
    texts = [
        "",
        "nonsense",
        "kt_test_0000000_ä",
        typo,
        house.robot.text.lower(),
        house.robot.text + " ",
        house.robot.text + "0",
        keys.issue(key_id=new_id(), environment="test"),
        keys.issue(key_id=house.robot.key.id, environment="test"),
    ]
    texts.remove(house.robot.text + " ")  # white space around a key is not part of it
    answers = {
        Client(headers={"Authorization": f"Bearer {text}"}).get(WHOAMI).content
        for text in texts
    }
    assert len(answers) == 1
    assert b"key_invalid" in answers.pop()


def test_a_typing_error_costs_no_query(house: House) -> None:
    with CaptureQueriesContext(connection) as queries, pytest.raises(Problem):
        authenticate_key(f"Bearer {house.robot.text[:-1]}")
    assert len(queries) == 0


def test_a_live_key_costs_three_statements(house: House) -> None:
    authenticate_key(f"Bearer {house.robot.text}")
    with CaptureQueriesContext(connection) as queries:
        authenticate_key(f"Bearer {house.robot.text}")
    statements = [q["sql"] for q in queries if q["sql"] not in ("BEGIN", "COMMIT")]
    assert len(statements) == 3, statements


def used_at(machine: Machine) -> datetime | None:
    with tenant_transaction(machine.agent.tenant_id):
        found = KeyUse.objects.filter(key=machine.key)
        return found.values_list("last_at", flat=True).first()


def test_a_use_is_noted_to_the_minute(house: House) -> None:
    assert used_at(house.robot) is None
    assert house.robot.client().get(WHOAMI).status_code == 200
    first = used_at(house.robot)
    assert first is not None
    house.robot.client().get(WHOAMI)
    assert used_at(house.robot) == first
    with tenant_transaction(house.id):
        earlier = first - USE_NOTED_EVERY
        KeyUse.objects.filter(key=house.robot.key).update(last_at=earlier)
    house.robot.client().get(WHOAMI)
    noted = used_at(house.robot)
    assert noted is not None
    assert noted > first


def test_a_dead_key_is_not_noted_as_used(house: House) -> None:
    expired = fresh_key(house.alice, house.robot.agent, expires_at=database_now())
    problem(expired.client().get(WHOAMI), 401, "key_expired")
    assert used_at(expired) is None


def test_nobody_is_turned_away_for_the_sake_of_a_note(house: House) -> None:
    house.robot.client().get(WHOAMI)
    with tenant_transaction(house.id):
        earlier = database_now() - USE_NOTED_EVERY
        KeyUse.objects.filter(key=house.robot.key).update(last_at=earlier)
    mine = f"key_id = '{house.robot.key.id}'"
    with locked_by_another("tenants_keyuse", mine), impatient():
        authenticate_key(f"Bearer {house.robot.text}")
    assert used_at(house.robot) == earlier


def test_a_revoked_key_is_dead_on_the_next_request(house: House) -> None:
    client = house.robot.client()
    assert client.get(WHOAMI).status_code == 200
    revoke_key(tenant_id=house.id, by=house.alice.id, key_id=house.robot.key.id)
    problem(client.get(WHOAMI), 401, "key_revoked")


def test_a_key_expires_by_the_databases_clock(house: House) -> None:
    expired = fresh_key(house.alice, house.robot.agent, expires_at=database_now())
    problem(expired.client().get(WHOAMI), 401, "key_expired")


def test_a_disabled_agents_keys_rest(house: House) -> None:
    agent = {"tenant_id": house.id, "by": house.alice.id}
    disable_agent(**agent, agent_id=house.robot.agent.id)
    problem(house.robot.client().get(WHOAMI), 401, "agent_disabled")
    enable_agent(**agent, agent_id=house.robot.agent.id)
    assert house.robot.client().get(WHOAMI).status_code == 200


def test_a_stopped_tenants_keys_rest(house: House) -> None:
    stop_tenant(tenant_id=house.id, by=house.alice.id)
    problem(house.robot.client().get(WHOAMI), 401, "tenant_stopped")
    start_tenant(tenant_id=house.id, by=house.alice.id)
    assert house.robot.client().get(WHOAMI).status_code == 200


def test_a_key_does_only_what_its_scopes_say(house: House) -> None:
    reader = fresh_key(house.alice, house.robot.agent, scopes=["read"])
    assert reader.client().get("/api/v1/groups").status_code == 200
    refusal = reader.client().post(
        "/api/v1/groups", {"name": "x"}, content_type="application/json"
    )
    assert problem(refusal, 403, "scope_missing")["scope"] == "approvals:write"
    writer = fresh_key(house.alice, house.robot.agent, scopes=["approvals:write"])
    problem(writer.client().get("/api/v1/groups"), 403, "scope_missing")


def test_the_text_of_a_key_is_stored_nowhere(house: House) -> None:
    secret = house.robot.text.rpartition("_")[2]
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('app.tenant', %s, false)", [str(house.id)])
        try:
            cursor.execute("SELECT string_agg(k::text, '') FROM tenants_apikey k")
            assert secret not in cursor.fetchone()[0]
            cursor.execute("SELECT string_agg(e::text, '') FROM audit_entry e")
            assert secret not in cursor.fetchone()[0]
        finally:
            cursor.execute("SELECT set_config('app.tenant', '', false)")


# -- Members ----------------------------------------------------------------------------


def test_a_members_session_names_them(house: House) -> None:
    response = house.bob.scripted().post(PERSON)
    assert UUID(response.json()["member"]) == house.bob.id


def test_a_session_without_a_csrf_token_changes_nothing(house: House) -> None:
    browser = house.bob.browser(**{"Keyturn-Tenant": house.tenant.slug})
    problem(browser.post(PERSON), 403, "csrf_failed")


def test_a_key_never_stands_for_a_person(house: House) -> None:
    problem(house.robot.client().post(PERSON), 403, "agents_cannot_decide")
    both = {"Authorization": f"Bearer {house.robot.text}"}
    response = house.bob.scripted().post(PERSON, headers=both)
    problem(response, 403, "agents_cannot_decide")


def test_a_session_is_no_key(house: House) -> None:
    problem(house.bob.scripted().get(WHOAMI), 401, "not_authenticated")


def test_nobody_is_asked_to_sign_in(house: House) -> None:
    response = Client(headers={"Keyturn-Tenant": house.tenant.slug}).get(PERSON)
    problem(response, 401, "not_authenticated")
    assert response["WWW-Authenticate"].startswith("Cookie")


def test_a_stranger_cannot_tell_a_tenant_from_none(house: House) -> None:
    def look(slug: str) -> Any:
        headers = {"Keyturn-Tenant": slug}
        return house.charlie.scripted().get(PERSON, headers=headers)

    problem(look(house.tenant.slug), 404, "not_found")
    assert look("no-such-tenant").content == look(house.tenant.slug).content


def test_the_tenant_is_named(house: House) -> None:
    client = Client()
    client.force_login(house.bob.user)
    problem(client.get(PERSON), 400, "tenant_required")


def test_a_deactivated_members_session_ends_at_once(house: House) -> None:
    client = house.bob.scripted()
    assert client.get(PERSON).status_code == 200
    deactivate_member(tenant_id=house.id, by=house.alice.id, member_id=house.bob.id)
    problem(client.get(PERSON), 404, "not_found")
