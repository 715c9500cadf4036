"""A policy's next revision: drafted, validated at save, published by whom it takes."""

from functools import partial
from typing import Any

import pytest

from approvals.models import Decision, Policy, PolicyDraft, PolicyRevision
from approvals.queries import statements
from approvals.services.policies import publish_policy, retire_policy
from approvals.services.policy_drafts import (
    publish_policy_draft,
    save_policy_draft,
    standing,
    withdraw_policy_draft,
)
from audit.evidence import signed_data
from kernel.ids import new_id
from kernel.scope import tenant_transaction
from tenants.checks import Operator
from tenants.models import Role
from tenants.services import ask_for_second_admin, deactivate_member
from tests.approvals.stage import Stage, fresh_stage
from tests.approvals.test_resume import work_all
from tests.chain import kinds_of
from tests.concurrency import together
from tests.factories import Somebody, fresh_member
from tests.refusals import refused

TWO: dict[str, Any] = {"verdict": "require_review", "rules": [{"approvals": 1}]}


@pytest.fixture
def stage() -> Stage:
    return fresh_stage()


def acting(stage: Stage, **more: Any) -> dict[str, Any]:
    who = {"tenant_id": stage.tenant_id, "by": stage.house.alice.id}
    return {**who, "name": "pay", **more}


def in_force(stage: Stage) -> dict[str, int]:
    with tenant_transaction(stage.tenant_id):
        rows = Policy.objects.exclude(current=None)
        return dict(rows.values_list("name", "current"))


def two_admins(stage: Stage) -> Somebody:
    """The tenant asks for a second one, and there is Dora."""
    dora = fresh_member(stage.house.alice, "Dora", role=Role.ADMIN)
    ask_for_second_admin(tenant_id=stage.tenant_id, by=stage.house.alice.id, asked=True)
    return dora


def test_a_draft_is_in_force_once_it_is_published(stage: Stage) -> None:
    draft = save_policy_draft(**acting(stage), definition=TWO, note="The first.")
    assert in_force(stage) == {}
    revision = publish_policy_draft(**acting(stage))
    assert revision is not None
    assert (revision.number, revision.definition) == (1, TWO)
    assert in_force(stage) == {"pay": 1}
    assert kinds_of(stage.tenant_id, draft.id) == [
        "policy.drafted",
        "policy.draft_published",
    ]
    assert kinds_of(stage.tenant_id, revision.policy_id) == ["policy.published"]
    with refused("not_found", status=404):
        publish_policy_draft(**acting(stage))


@pytest.mark.parametrize(
    ("definition", "code", "pointer"),
    [
        ({}, "policy.invalid", ""),
        ({"verdict": "maybe"}, "policy.invalid", "/verdict"),
        ({**TWO, "selector": "tool =="}, "policy.selector_invalid", "/selector"),
        ({**TWO, "selector": "amount > 3"}, "policy.selector_invalid", "/selector"),
        ({**TWO, "queue": "nowhere"}, "policy.invalid", "/queue"),
        ({**TWO, "rules": [{}, {"approvals": 3}]}, "policy.invalid", "/rules/1"),
        (
            {**TWO, "rules": [{"eligible": {"members": [str(new_id())]}}]},
            "policy.invalid",
            "/rules/0",
        ),
    ],
)
def test_what_cannot_be_used_is_not_kept(
    stage: Stage, definition: dict[str, Any], code: str, pointer: str
) -> None:
    with refused(code, status=422, pointer=pointer):
        save_policy_draft(**acting(stage), definition=definition)
    with tenant_transaction(stage.tenant_id):
        assert not PolicyDraft.objects.exists()


@pytest.mark.parametrize("name", ["", "a b", "a/b", "x" * 101, "é"])
def test_a_name_is_a_word(stage: Stage, name: str) -> None:
    with refused("policy.invalid", status=422, pointer="/name"):
        save_policy_draft(**acting(stage, name=name), definition=TWO)


def test_what_became_impossible_since_is_not_published(stage: Stage) -> None:
    carol = stage.reviewer()
    rules = [{"eligible": {"members": [str(carol.id)]}}]
    save_policy_draft(**acting(stage), definition={**TWO, "rules": rules})
    deactivate_member(
        tenant_id=stage.tenant_id, by=stage.house.alice.id, member_id=carol.id
    )
    with refused("policy.invalid", status=422, pointer="/rules/0"):
        publish_policy_draft(**acting(stage))


def test_a_draft_that_was_changed_past_the_verbs_is_not_published(
    stage: Stage,
) -> None:
    draft = save_policy_draft(**acting(stage), definition=TWO)
    with tenant_transaction(stage.tenant_id):
        rows = PolicyDraft.objects.filter(id=draft.id)
        rows.update(definition={"verdict": "allow"})
    with refused("policy.draft_changed", status=409):
        publish_policy_draft(**acting(stage))


def seen(stage: Stage, name: str = "pay") -> str:
    """What somebody who opened the page would have read."""
    with tenant_transaction(stage.tenant_id):
        return standing(name)


@pytest.mark.parametrize("verb", [publish_policy_draft, withdraw_policy_draft])
def test_nobody_answers_a_draft_that_they_did_not_see(stage: Stage, verb: Any) -> None:
    save_policy_draft(**acting(stage), definition=TWO)
    read = seen(stage)
    save_policy_draft(**acting(stage), definition={**TWO, "reason": "always"})
    with refused("policy.draft_changed", status=409):
        verb(**acting(stage), seen=read)
    verb(**acting(stage), seen=seen(stage))


def test_nobody_writes_over_a_draft_that_they_did_not_see(stage: Stage) -> None:
    nothing = seen(stage)
    save_policy_draft(**acting(stage), definition=TWO, seen=nothing)
    with refused("policy.draft_changed", status=409):
        save_policy_draft(**acting(stage), definition=TWO, seen=nothing)
    deny = {"verdict": "deny"}
    save_policy_draft(**acting(stage), definition=deny, seen=seen(stage))


def test_a_draft_is_not_published_over_a_revision_that_nobody_compared_it_with(
    stage: Stage,
) -> None:
    publish_policy(**acting(stage), definition=TWO)
    save_policy_draft(**acting(stage), definition=None)
    read = seen(stage)
    publish_policy(**acting(stage), definition={"verdict": "deny"})
    with refused("policy.draft_changed", status=409):
        publish_policy_draft(**acting(stage), seen=read)
    assert in_force(stage) == {"pay": 2}


def test_a_draft_is_published_once_however_many_press_the_button(stage: Stage) -> None:
    dora = fresh_member(stage.house.alice, "Dora", role=Role.ADMIN)
    save_policy_draft(**acting(stage), definition=TWO)
    read = seen(stage)
    admins = [stage.house.alice.id, dora.id] * 4
    ended = together(
        *[
            partial(publish_policy_draft, **acting(stage, by=by), seen=read)
            for by in admins
        ]
    )
    published = [one for one in ended if isinstance(one, PolicyRevision)]
    others = {getattr(one, "code", one) for one in ended if one not in published}
    assert len(published) == 1
    assert others == {"not_found"}
    assert in_force(stage) == {"pay": 1}


def test_a_policy_is_taken_out_of_force_by_a_draft_too(stage: Stage) -> None:
    with refused("not_found", status=404):
        save_policy_draft(**acting(stage), definition=None)
    publish_policy(**acting(stage), definition=TWO)
    save_policy_draft(**acting(stage), definition=None)
    assert publish_policy_draft(**acting(stage)) is None
    assert in_force(stage) == {}


def test_a_withdrawn_draft_makes_room_and_stays_on_record(stage: Stage) -> None:
    draft = save_policy_draft(**acting(stage), definition=TWO)
    withdraw_policy_draft(**acting(stage))
    assert save_policy_draft(**acting(stage), definition=TWO).id != draft.id


def test_where_a_second_admin_is_asked_for_the_author_does_not_publish(
    stage: Stage,
) -> None:
    dora = two_admins(stage)
    save_policy_draft(**acting(stage), definition=TWO)
    with refused("policy.own_draft", status=403):
        publish_policy_draft(**acting(stage))
    assert in_force(stage) == {}
    publish_policy_draft(**acting(stage, by=dora.id))
    assert in_force(stage) == {"pay": 1}


@pytest.mark.parametrize("by", ["admin", "console"])
def test_one_step_does_not_stand_for_two_people(stage: Stage, by: str) -> None:
    publish_policy(**acting(stage), definition=TWO)
    two_admins(stage)
    who = stage.house.alice.id if by == "admin" else Operator.CONSOLE
    with refused("policy.own_draft", status=403):
        publish_policy(**acting(stage, by=who), definition={"verdict": "allow"})
    with refused("policy.own_draft", status=403):
        retire_policy(**acting(stage, by=who))
    save_policy_draft(**acting(stage, by=who), definition=None)
    with refused("policy.own_draft", status=403):
        publish_policy_draft(**acting(stage, by=who))
    assert in_force(stage) == {"pay": 1}


def test_who_publishes_anothers_draft_stands_for_it_and_is_on_record(
    stage: Stage,
) -> None:
    """Its author then counts like anybody else, and the approval is used."""
    dora = fresh_member(
        stage.house.alice, "Dora", role=Role.ADMIN, group=stage.house.reviewers
    )
    save_policy_draft(**acting(stage, by=dora.id), definition=TWO)
    revision = publish_policy_draft(**acting(stage))
    assert revision is not None
    with tenant_transaction(stage.tenant_id):
        row = PolicyRevision.objects.get(id=revision.id)
        authors = [one.author for one in statements()]
    assert (row.author_id, row.cosigned_by_id) == (dora.id, stage.house.alice.id)
    assert authors == [None]
    request = stage.ask()
    stage.answer(request, by=dora)
    work_all(stage, request)
    assert stage.fresh(request).state == "approved"


def test_the_log_names_the_author_of_what_another_published(stage: Stage) -> None:
    dora = fresh_member(
        stage.house.alice, "Dora", role=Role.ADMIN, group=stage.house.reviewers
    )
    save_policy_draft(**acting(stage, by=dora.id), definition=TWO)
    revision = publish_policy_draft(**acting(stage))
    assert revision is not None
    policy = revision.policy_id
    with tenant_transaction(stage.tenant_id):
        signed = signed_data(
            stage.tenant_id, kind="policy.published", subjects=[policy]
        )
    assert signed[policy]["author"] == str(dora.id)


@pytest.mark.parametrize("verb", [publish_policy_draft, withdraw_policy_draft])
def test_reviewers_and_strangers_change_nothing(stage: Stage, verb: Any) -> None:
    save_policy_draft(**acting(stage), definition=TWO)
    with refused("not_permitted", status=403):
        verb(**acting(stage, by=stage.bob.id))
    with refused("not_found", status=404):
        verb(**acting(stage, by=stage.house.charlie.id))
    with refused("not_permitted", status=403):
        save_policy_draft(**acting(stage, by=stage.bob.id), definition=TWO)


def test_only_an_owner_asks_for_a_second_admin_and_none_of_them_ends_it(
    stage: Stage,
) -> None:
    tenant = {"tenant_id": stage.tenant_id}
    with refused("no_second_admin", status=409):
        ask_for_second_admin(**tenant, by=stage.house.alice.id, asked=True)
    dora = two_admins(stage)
    for by in (stage.house.alice.id, dora.id):
        with refused("not_permitted", status=403):
            ask_for_second_admin(**tenant, by=by, asked=False)
    ask_for_second_admin(**tenant, by=Operator.CONSOLE, asked=False)
    with refused("not_permitted", status=403):
        ask_for_second_admin(**tenant, by=dora.id, asked=True)
    publish_policy(**acting(stage), definition=TWO)
    assert kinds_of(stage.tenant_id, stage.tenant_id)[-2:] == [
        "tenant.second_admin_asked",
        "tenant.second_admin_ended",
    ]


def test_a_person_alone_still_decides_nothing_by_publishing(stage: Stage) -> None:
    """An author's allow does not serve the author's own agents, drafted or not."""
    save_policy_draft(**acting(stage), definition={"verdict": "allow"})
    publish_policy_draft(**acting(stage))
    request = stage.ask()
    assert request.state == "pending"
    stage.answer(request, verdict=Decision.Verdict.REJECT, reason="No.")
