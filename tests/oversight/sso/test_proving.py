"""A policy that asks who somebody is now: the provider is asked, and says when."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client

from approvals.models import Decision
from kernel.scope import tenant_transaction
from tenants.checks import Operator
from tenants.models import ExternalIdentity
from tests.approvals.stage import Stage, fresh_stage
from tests.oversight.sso.journey import address_of, arrive, local, set_up
from tests.oversight.sso.provider import Provider


@pytest.fixture
def stage(provider: Provider) -> Stage:
    """Bob comes by the provider, and the policy wants it to be new."""
    from approvals.services.policies import publish_policy

    stage = fresh_stage()
    set_up(stage.house, provider)
    with tenant_transaction(stage.tenant_id):
        ExternalIdentity.objects.create(
            tenant_id=stage.tenant_id,
            issuer=provider.issuer,
            subject="bob-1",
            member=stage.bob.member,
        )
    publish_policy(
        tenant_id=stage.tenant_id,
        by=Operator.CONSOLE,
        name="fresh",
        definition={"verdict": "require_review", "reauthentication": 300},
    )
    return stage


def decide(stage: Stage, browser: Client, asked: Any) -> Any:
    return browser.post(
        f"/t/{stage.house.tenant.slug}/requests/{asked.id}/decide",
        {
            "verdict": "approve",
            "digest": stage.digest(asked).hex(),
            "password": "anything",
        },
    )


def prove(stage: Stage, provider: Provider, browser: Client) -> Any:
    """Prove it again, as the link in the form does; the last answer of ours."""
    page = browser.get(address_of(stage.house, "/prove?next=/t/back/"))
    asked = page.context["href"]
    said = parse_qs(urlsplit(asked).query)
    assert (said["prompt"], said["max_age"]) == (["login"], ["0"])
    return browser.get(local(provider.answers(asked)))


def test_an_old_proof_is_refused_and_a_new_one_recorded(
    stage: Stage, provider: Provider
) -> None:
    provider.signs_in("bob-1")  # which says nothing of when
    browser, _ = arrive(stage.house, provider)
    asked = stage.ask()
    refused = decide(stage, browser, asked)
    assert refused.status_code == 403
    assert "Prove it to your organisation" in refused.content.decode()
    assert prove(stage, provider, browser).headers["Location"] == "/t/back/"
    assert decide(stage, browser, asked).status_code == 303
    with tenant_transaction(stage.tenant_id):
        (decision,) = Decision.objects.filter(request_id=asked.id)
    said = decision.authentication
    assert (said["methods"], said["at"] is None) == (["single_sign_on"], False)


@pytest.mark.parametrize(
    "lies",
    [
        {"claims": {"auth_time": None}},
        {"later": {"auth_time": -600}},
        {"claims": {"sub": "nora-1"}},
    ],
    ids=["says nothing", "long ago", "somebody else"],
)
def test_what_is_no_new_proof_changes_nothing(
    lies: dict[str, Any], stage: Stage, provider: Provider
) -> None:
    provider.signs_in("bob-1")
    browser, _ = arrive(stage.house, provider)
    provider.signs_in("bob-1", lies=lies)
    assert prove(stage, provider, browser).status_code == 403
    assert decide(stage, browser, stage.ask()).status_code == 403
    with tenant_transaction(stage.tenant_id):  # and nobody new came in by it
        assert ExternalIdentity.objects.get().member_id == stage.bob.id


def test_a_sign_in_that_says_when_is_as_old_as_it_says(
    stage: Stage, provider: Provider
) -> None:
    provider.signs_in("bob-1", lies={"later": {"auth_time": -200}})
    browser, _ = arrive(stage.house, provider)
    assert decide(stage, browser, stage.ask()).status_code == 303
    provider.signs_in("bob-1", lies={"later": {"auth_time": -400}})
    browser, _ = arrive(stage.house, provider)
    assert decide(stage, browser, stage.ask()).status_code == 403
