"""The page of a tenant's provider: for who administers it, its secret for nobody."""

from typing import Any

import pytest
from django.core.management import call_command
from django.db import ProgrammingError, connection

from audit.models import Entry
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from tenants.models import ExternalIdentity, GroupMapping, Role, SingleSignOn
from tenants.services import create_group
from tenants.services.entering import disconnect
from tenants.services.join_links import make_join_link
from tenants.services.public_issuers import is_public
from tenants.services.single_sign_on import (
    configure,
    provider_of,
    refuse_passwords,
)
from tests.approvals.stage import Stage, fresh_stage
from tests.approvals.views.browsing import Reader, reader
from tests.factories import fresh_member
from tests.oversight.administering import HOSTILE, text, turned_away

PAGE = "single-sign-on"
ANYBODYS = "https://accounts.google.com"
SET_UP = {
    "act": "configure",
    "issuer": "https://id.example",
    "client_id": "keyturn",
    "secret": "s3cret-of-the-client",
    "groups_claim": "groups",
    "role": "reviewer",
}


@pytest.fixture
def stage() -> Stage:
    return fresh_stage()


@pytest.fixture
def alice(stage: Stage) -> Reader:
    return reader(stage, stage.house.alice)


def config(stage: Stage) -> SingleSignOn | None:
    with tenant_transaction(stage.tenant_id):
        return SingleSignOn.objects.first()


def test_it_is_set_up_and_its_secret_is_shown_to_nobody(
    stage: Stage, alice: Reader
) -> None:
    assert "/accounts/sso/" in text(alice.get(PAGE))
    assert alice.post(PAGE, SET_UP).status_code == 303
    with tenant_transaction(stage.tenant_id):
        assert provider_of(stage.tenant_id).secret == SET_UP["secret"]
        (row,) = SingleSignOn.objects.all()
        assert SET_UP["secret"].encode() not in bytes(row.sealed)
    shown = text(alice.get(PAGE))
    assert "https://id.example" in shown
    assert SET_UP["secret"] not in shown


def test_the_secret_stays_and_goes_to_no_other_issuer(
    stage: Stage, alice: Reader
) -> None:
    alice.post(PAGE, SET_UP)
    kept = {**SET_UP, "secret": "", "client_id": "other"}
    assert alice.post(PAGE, kept).status_code == 303
    with tenant_transaction(stage.tenant_id):
        assert provider_of(stage.tenant_id).secret == SET_UP["secret"]
    moved = alice.post(PAGE, {**kept, "issuer": "https://evil.example"})
    assert moved.status_code == 422
    assert moved.context["sso"].form.errors == {"secret": "The secret is needed."}
    row = config(stage)
    assert row is not None
    assert row.issuer == "https://id.example"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("issuer", "http://id.example"),
        ("issuer", "https://me:you@id.example"),
        ("issuer", "https://id.example/?a=b"),
        ("issuer", "javascript:alert(1)"),
        ("admits", ANYBODYS),
        ("client_id", "a\u202eb"),
        ("role", "owner"),
        ("role", "auditor"),
    ],
)
def test_what_cannot_be_set_is_said_beside_its_field(
    field: str, value: str, stage: Stage, alice: Reader
) -> None:
    said = {**SET_UP, field: value}
    if value == ANYBODYS:
        said |= {"issuer": value, "admits": "on"}
    answer = alice.post(PAGE, said)
    assert answer.status_code == 422
    assert field in answer.context["sso"].form.errors
    assert "secret" not in answer.context["sso"].form.typed
    assert config(stage) is None


def test_values_stand_for_groups(stage: Stage, alice: Reader) -> None:
    alice.post(PAGE, SET_UP)
    group = create_group(
        tenant_id=stage.tenant_id, by=stage.house.alice.id, name="Payers"
    )
    said = {"act": "map", "value": HOSTILE, "group": str(group.id)}
    assert alice.post(PAGE, said).status_code == 303
    assert alice.post(PAGE, said).status_code == 409
    page = alice.get(PAGE)
    assert HOSTILE not in page.content.decode()
    (row,) = page.context["sso"].mappings
    assert (row.value, row.group) == (HOSTILE, "Payers")
    assert alice.post(PAGE, {"act": "unmap", "mapping": row.id}).status_code == 303
    with tenant_transaction(stage.tenant_id):
        assert not GroupMapping.objects.exists()


def test_a_link_is_shown_once_and_only_its_digest_is_kept(alice: Reader) -> None:
    alice.post(PAGE, SET_UP)
    made = alice.post(PAGE, {"act": "link", "name": "Nora", "role": "reviewer"})
    assert "?link=" in made.context["sso"].link
    assert not alice.get(PAGE).context["sso"].link


def test_a_link_is_revoked_on_the_record(stage: Stage, alice: Reader) -> None:
    alice.post(PAGE, SET_UP)
    for name in (HOSTILE, "Nia"):
        alice.post(PAGE, {"act": "link", "name": name, "role": "reviewer"})
    page = alice.get(PAGE)
    assert HOSTILE not in page.content.decode()
    one, kept = page.context["sso"].links
    assert (one.name, one.role, one.by) == (HOSTILE, "Reviewer", "Alice")
    said = {"act": "revoke_link", "link": one.id}
    assert alice.post(PAGE, said).status_code == 303
    assert alice.post(PAGE, said).status_code == 404
    assert alice.get(PAGE).context["sso"].links == (kept,)
    with tenant_transaction(stage.tenant_id):
        entry = Entry.objects.get(kind="sso.link_revoked")
    assert entry.data == {"name": HOSTILE, "role": "reviewer"}


def test_nobody_locks_the_tenant_without_having_come_by_the_provider(
    stage: Stage, alice: Reader
) -> None:
    alice.post(PAGE, SET_UP)
    assert alice.post(PAGE, {"act": "refuse"}).status_code == 409
    identity = identify(stage, stage.bob.member)
    for by, through in [
        (stage.house.alice.id, identity.id),  # somebody else's
        (stage.bob.id, identity.id),  # no owner
    ]:
        with pytest.raises(Problem):
            refuse_passwords(tenant_id=stage.tenant_id, by=by, through=through)


def test_the_console_lets_passwords_in_again(
    stage: Stage, alice: Reader, capsys: Any
) -> None:
    alice.post(PAGE, SET_UP)
    identity = identify(stage, stage.house.alice.member)
    refuse_passwords(
        tenant_id=stage.tenant_id, by=stage.house.alice.id, through=identity.id
    )
    assert alice.get(PAGE).status_code == 302
    call_command("allow_passwords", stage.house.tenant.slug)
    assert alice.get(PAGE).status_code == 200


def identify(stage: Stage, member: Any, issuer: str = "https://id.example") -> Any:
    with tenant_transaction(stage.tenant_id):
        return ExternalIdentity.objects.create(
            tenant_id=stage.tenant_id,
            issuer=issuer,
            subject=f"somebody-{member.id}",
            member=member,
        )


def test_an_admin_touches_no_owner_and_makes_none(stage: Stage) -> None:
    configure(
        tenant_id=stage.tenant_id,
        by=stage.house.alice.id,
        issuer="https://id.example",
        client_id="a",
        secret="b",
    )
    ada = fresh_member(stage.house.alice, "Ada", role=Role.ADMIN)
    identity = identify(stage, stage.house.alice.member)
    with pytest.raises(Problem, match="not_permitted"):
        disconnect(
            tenant_id=stage.tenant_id,
            by=ada.id,
            member_id=stage.house.alice.id,
            identity_id=identity.id,
        )
    for role in (Role.OWNER, Role.ADMIN, Role.AUDITOR):
        with pytest.raises(Problem):
            make_join_link(tenant_id=stage.tenant_id, by=ada.id, name="X", role=role)


def test_a_member_is_disconnected_on_their_page(stage: Stage, alice: Reader) -> None:
    alice.post(PAGE, SET_UP)
    identity = identify(stage, stage.bob.member)
    page = f"people/{stage.bob.id}"
    assert identity.subject in text(alice.get(page))
    said = {"act": "disconnect", "identity": str(identity.id)}
    carol = stage.reviewer("Carol")
    assert alice.post(f"people/{carol.id}", said).status_code == 404
    assert alice.post(page, said).status_code == 303
    assert alice.post(page, said).status_code == 404
    assert identity.subject not in text(alice.get(page))
    assert alice.get(PAGE).context["sso"].connected == 0
    with tenant_transaction(stage.tenant_id):
        assert ExternalIdentity.objects.get().ended_at is not None


def test_who_was_disconnected_has_not_come_by_the_provider(
    stage: Stage, alice: Reader
) -> None:
    alice.post(PAGE, SET_UP)
    alices = stage.house.alice.id
    identity = identify(stage, stage.house.alice.member)
    here = {"tenant_id": stage.tenant_id, "by": alices}
    disconnect(**here, member_id=alices, identity_id=identity.id)
    with pytest.raises(Problem, match="not_tried"):
        refuse_passwords(**here, through=identity.id)


def test_the_database_forgets_no_identity_and_moves_none(stage: Stage) -> None:
    identity = identify(stage, stage.bob.member)
    for sql in (
        "DELETE FROM tenants_externalidentity WHERE id = %s",
        "UPDATE tenants_externalidentity SET member_id = member_id WHERE id = %s",
        "UPDATE tenants_externalidentity SET subject = 'x' WHERE id = %s",
    ):
        with (
            pytest.raises(ProgrammingError, match="permission denied"),
            tenant_transaction(stage.tenant_id),
            connection.cursor() as cursor,
        ):
            cursor.execute(sql, [identity.id])


def test_an_admin_neither_names_a_provider_nor_ends_it(
    stage: Stage, alice: Reader
) -> None:
    ada = reader(stage, fresh_member(stage.house.alice, "Ada", role=Role.ADMIN))
    assert ada.post(PAGE, SET_UP).status_code == 403
    assert "Ask an owner" in text(ada.get(PAGE))
    assert alice.post(PAGE, SET_UP).status_code == 303
    end = 'value="end"'
    assert end in alice.get(PAGE).content.decode()
    assert end not in ada.get(PAGE).content.decode()
    assert ada.post(PAGE, {"act": "end"}).status_code == 403
    other = {**SET_UP, "issuer": "https://evil.example"}
    assert ada.post(PAGE, other).status_code == 403
    row = config(stage)
    assert row is not None
    assert row.issuer == SET_UP["issuer"]
    assert ada.post(PAGE, {**SET_UP, "groups_claim": "roles"}).status_code == 303


@pytest.mark.parametrize(
    ("issuer", "is_anybodys"),
    [
        ("https://accounts.google.com", True),
        ("https://Accounts.Google.com:443/", True),
        ("https://accounts.google.com./", True),
        ("https://login.microsoftonline.com/common/v2.0", True),
        (
            "https://login.microsoftonline.com/00000000-0000-0000-0000-000000000001",
            False,
        ),
        ("https://gitlab.com.example", False),
        ("https://id.example/gitlab.com", False),
    ],
)
def test_public_providers_are_known_however_they_are_written(
    issuer: str, is_anybodys: bool
) -> None:
    assert is_public(issuer) is is_anybodys


def test_only_those_who_administer_see_it(stage: Stage, alice: Reader) -> None:
    turned_away(
        alice, PAGE, "configure", "end", "refuse", "allow", "map", "link", "revoke_link"
    )
    assert alice.post(PAGE, {"act": "sudo"}).status_code == 404
