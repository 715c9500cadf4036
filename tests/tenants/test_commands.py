"""The console founds tenants and creates agents; it never decides."""

import io
import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from tenants.access import member_in
from tenants.authentication import authenticate_key
from tenants.models import Role, User
from tests.factories import House, fresh_user, unique


def run(*arguments: str) -> str:
    out = io.StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue().strip()


def typed(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))


def test_a_tenant_for_someone_new(monkeypatch: pytest.MonkeyPatch) -> None:
    slug, email = f"acme-{unique()}", f"{unique()}@example.test"
    typed(monkeypatch, "correct-horse-battery\n")
    answer = json.loads(
        run(
            "create_tenant",
            slug,
            "--name=Acme",
            f"--owner={email}",
            "--owner-name=Alice",
            "--json",
        )
    )
    user = User.objects.get(email=email)
    assert user.check_password("correct-horse-battery")
    member = member_in(user, slug)
    assert member.role is Role.OWNER
    assert answer == {
        "id": str(member.tenant_id),
        "slug": slug,
        "owner": str(member.member_id),
    }


def test_a_tenant_for_someone_known() -> None:
    user, slug = fresh_user("Alice"), f"acme-{unique()}"
    text = run("create_tenant", slug, "--name=Acme", f"--owner={user.email}")
    assert text == f"Acme is at /t/{slug}/"
    assert member_in(user, slug).tenant_name == "Acme"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"slug": "Not A Slug"}, "name_invalid"),
        ({"owner": "new@example.test"}, "give --owner-name"),
    ],
)
def test_what_is_wrong_is_said(arguments: dict[str, str], complaint: str) -> None:
    given: dict[str, Any] = {
        "slug": f"acme-{unique()}",
        "owner": fresh_user("Alice").email,
        **arguments,
    }
    with pytest.raises(CommandError, match=complaint):
        run("create_tenant", given["slug"], "--name=A", f"--owner={given['owner']}")


def test_a_weak_password_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    typed(monkeypatch, "12345678\n")
    email = f"{unique()}@example.test"
    with pytest.raises(CommandError, match="too common"):
        run(
            "create_tenant",
            f"acme-{unique()}",
            "--name=A",
            f"--owner={email}",
            "--owner-name=A",
        )
    assert not User.objects.filter(email=email).exists()


def test_an_agent_and_its_key(house: House) -> None:
    answer = json.loads(
        run(
            "create_agent",
            house.tenant.slug,
            "billing",
            f"--owner={house.bob.user.email}",
            "--environment=staging",
            "--scope=read",
            "--json",
        )
    )
    principal = authenticate_key(f"Bearer {answer['api_key']}")
    assert str(principal.agent_id) == answer["id"]
    assert principal.tenant_id == house.id
    assert principal.environment == "staging"
    assert principal.scopes == {"read"}


def test_the_key_is_shown_to_people_too(house: House) -> None:
    text = run(
        "create_agent", house.tenant.slug, "billing", f"--owner={house.bob.user.email}"
    )
    assert authenticate_key(f"Bearer {text.splitlines()[-1]}").tenant_id == house.id


def test_an_agents_owner_is_a_member(house: House) -> None:
    with pytest.raises(CommandError, match="is no member of"):
        run(
            "create_agent",
            house.tenant.slug,
            "billing",
            f"--owner={house.charlie.user.email}",
        )


def test_an_environment_that_cannot_be_in_a_key_creates_nothing(house: House) -> None:
    arguments = (
        "create_agent",
        house.tenant.slug,
        "billing",
        f"--owner={house.bob.user.email}",
    )
    with pytest.raises(CommandError, match="environment"):
        run(*arguments, "--environment=Not_This")
    run(*arguments, "--environment=this")
