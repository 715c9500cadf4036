"""Where a policy asks who it is: whoever has a second factor shows that one."""

from collections.abc import Iterator
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.core.cache import cache

from approvals.models import Decision, Request
from kernel.scope import tenant_transaction
from tests.approvals.stage import Stage
from tests.approvals.views.browsing import Reader, reader
from tests.tenants.second_factors import (
    PASSWORD,
    add_app,
    code_of,
    recovery_codes_of,
    signed_in,
    with_app,
    with_password,
    wrong_code,
)


@pytest.fixture(autouse=True)
def _no_former_tries() -> Iterator[None]:
    """All tests of a process come from one address, whose tries are counted."""
    cache.clear()
    yield
    cache.clear()


@pytest.fixture
def asked(stage: Stage) -> Request:
    stage.policy(reauthentication=60)
    with_app(stage.bob.user)
    return stage.ask()


def how(stage: Stage, request: Request) -> list[str]:
    with tenant_transaction(stage.tenant_id):
        (row,) = Decision.objects.filter(request=request, member=stage.bob.id)
    methods: list[str] = row.authentication["methods"]
    assert isinstance(row.authentication["at"], float)
    return methods


def errors(answer: Any) -> list[str]:
    return list(answer.context["case"].desk.form.errors)


def test_a_password_does_not_stand_in_for_a_second_factor(
    stage: Stage, asked: Request
) -> None:
    bob = reader(stage)
    proof = bob.case(asked.id).desk.reauthentication
    assert (proof.field, proof.elsewhere) == ("code", "")
    refused = bob.decide(asked.id, "approve", password=PASSWORD)
    assert refused.status_code == 403
    assert stage.fresh(asked).state == "pending"
    wrong = bob.decide(asked.id, "approve", code=wrong_code(), reason="Kept.")
    assert (wrong.status_code, errors(wrong)) == (422, ["code"])
    form = wrong.context["case"].desk.form
    assert form.values["reason"] == "Kept."
    assert wrong_code() not in form.values.values()


def test_a_code_does_and_the_decision_says_so(stage: Stage, asked: Request) -> None:
    answer = reader(stage).decide(asked.id, "approve", code=code_of())
    assert answer.status_code == 303
    assert stage.fresh(asked).state == "approved"
    assert how(stage, asked) == ["totp"]


def test_a_recovery_code_does_and_the_decision_says_so(
    stage: Stage, asked: Request
) -> None:
    code, *_ = recovery_codes_of(stage.bob.user)
    answer = reader(stage).decide(asked.id, "approve", code=code)
    assert answer.status_code == 303
    assert how(stage, asked) == ["recovery_codes"]


def test_whoever_signed_in_with_both_just_now_is_not_asked(
    stage: Stage, asked: Request
) -> None:
    browser = signed_in(stage.bob.user, code=code_of())
    bob = Reader(stage=stage, client=browser)
    assert bob.case(asked.id).desk.reauthentication is None
    assert bob.decide(asked.id, "approve").status_code == 303
    assert how(stage, asked) == ["password", "totp"]


def test_a_session_from_before_the_second_factor_proves_nothing(
    stage: Stage,
) -> None:
    """Added in another browser, it counts in this one at once."""
    stage.policy(reauthentication=60)
    browser = signed_in(with_password(stage.bob.user))
    request, bob = stage.ask(), Reader(stage=stage, client=browser)
    assert bob.case(request.id).desk.reauthentication is None
    add_app(stage.bob.user)
    refused = bob.decide(request.id, "approve")
    assert refused.status_code == 403


def test_guesses_in_the_form_are_limited(stage: Stage, asked: Request) -> None:
    bob = reader(stage)
    for _ in range(5):
        bob.decide(asked.id, "approve", code=wrong_code())
    answer = bob.decide(asked.id, "approve", code=code_of())
    assert answer.status_code == 422
    assert stage.fresh(asked).state == "pending"


def with_passkey(stage: Stage) -> None:
    """Bob has one; what it signs is tested in a browser."""
    Authenticator.objects.create(
        user=stage.bob.user, type="webauthn", data={"name": "Laptop", "credential": {}}
    )


@pytest.mark.parametrize("verdict", ["approve", "reject", "request_changes"])
def test_what_was_typed_is_found_again_after_a_passkey(
    stage: Stage, verdict: str
) -> None:
    stage.policy(reauthentication=60)
    with_passkey(stage)
    request, bob = stage.ask(), reader(stage)
    left = bob.decide(request.id, verdict, reason="Typed <b>before</b>", prove="1")
    there = f"/t/{stage.house.tenant.slug}/requests/{request.id}/decide"
    assert left.headers["Location"].startswith(
        "/accounts/2fa/webauthn/reauthenticate/?"
    )
    assert there.replace("/", "%2F") in left.headers["Location"]
    back = bob.client.get(there)
    form = back.context["case"].desk.form
    assert (back.status_code, form.verdict) == (200, verdict)
    assert (form.values["reason"], form.errors) == ("Typed <b>before</b>", {})
    assert bob.client.get(there).status_code == 303  # once
    assert stage.fresh(request).state == "pending"


def test_what_changed_meanwhile_is_said(stage: Stage) -> None:
    stage.policy(reauthentication=60)
    with_passkey(stage)
    request, bob = stage.ask(), reader(stage)
    bob.decide(request.id, "approve", reason="Kept.", digest="0" * 64, prove="1")
    back = bob.get(f"requests/{request.id}/decide")
    assert back.status_code == 409
    assert back.context["case"].desk.form.values["reason"] == "Kept."


def test_nobody_leaves_a_form_who_proves_it_there(stage: Stage) -> None:
    stage.policy(reauthentication=60)
    request = stage.ask()
    assert reader(stage).decide(request.id, "approve", prove="1").status_code == 404
