"""A workflow's next version: drafted, validated, published, by whom it takes."""

from typing import Any

import pytest

from kernel.canonical import definition_digest
from kernel.scope import tenant_transaction
from sessions.contract import check_definition
from sessions.models import Workflow, WorkflowDraft
from sessions.queries import current_workflow
from sessions.services import (
    define_workflow,
    publish_draft,
    save_draft,
    validate_draft,
    withdraw_draft,
)
from sessions.shipped import KINDS, shipped
from tenants.checks import Operator
from tenants.models import Role
from tests.chain import kinds_of
from tests.factories import House, fresh_member
from tests.refusals import refused

DEFINITION: dict[str, Any] = {"stages": {"a": ["b"], "b": []}, "initial": "a"}


def acting(house: House, **more: Any) -> dict[str, Any]:
    return {"tenant_id": house.id, "by": house.alice.id, "kind": "invoice", **more}


def in_force(house: House) -> Workflow | None:
    with tenant_transaction(house.id):
        return current_workflow(house.id, "invoice")


def test_a_draft_is_in_force_once_it_was_validated_and_published(house: House) -> None:
    draft = save_draft(**acting(house), definition=DEFINITION, note="The first.")
    with refused("workflow_not_validated", status=409):
        publish_draft(**acting(house))
    validate_draft(**acting(house))
    assert in_force(house) is None
    workflow = publish_draft(**acting(house))

    assert (workflow.version, workflow.definition) == (1, DEFINITION)
    assert kinds_of(house.id, draft.id) == [
        "workflow.drafted",
        "workflow.validated",
        "workflow.published",
    ]
    assert kinds_of(house.id, workflow.id) == ["workflow.defined"]


def test_what_was_validated_is_validated_anew_after_an_edit(house: House) -> None:
    save_draft(**acting(house), definition=DEFINITION)
    validate_draft(**acting(house))
    save_draft(**acting(house), definition={})
    with refused("workflow_not_validated", status=409):
        publish_draft(**acting(house))


def test_a_draft_that_was_changed_past_the_verbs_is_not_published(house: House) -> None:
    save_draft(**acting(house), definition=DEFINITION)
    draft = validate_draft(**acting(house))
    with tenant_transaction(house.id):
        WorkflowDraft.objects.filter(id=draft.id).update(definition={})
    with refused("workflow_not_validated", status=409):
        publish_draft(**acting(house))


def test_a_draft_that_contradicts_itself_is_kept_and_not_validated(
    house: House,
) -> None:
    save_draft(**acting(house), definition={"initial": "nowhere"})
    with refused("workflow_invalid", status=422, pointer="/initial"):
        validate_draft(**acting(house))
    with refused("workflow_not_validated", status=409):
        publish_draft(**acting(house))


def test_where_a_second_admin_is_asked_for_the_author_does_not_publish(
    house: House,
) -> None:
    save_draft(**acting(house), definition={**DEFINITION, "second_admin": True})
    validate_draft(**acting(house))
    publish_draft(**acting(house))
    save_draft(**acting(house), definition=DEFINITION)
    validate_draft(**acting(house))
    with refused("workflow_own_draft", status=403):
        publish_draft(**acting(house))

    carol = fresh_member(house.alice, "Carol", role=Role.ADMIN)
    assert publish_draft(**acting(house, by=carol.id)).version == 2


@pytest.mark.parametrize("by", ["admin", "console"])
def test_one_step_does_not_stand_for_two_people(house: House, by: str) -> None:
    two = {**DEFINITION, "second_admin": True}
    who = house.alice.id if by == "admin" else Operator.CONSOLE
    define_workflow(**acting(house, by=who), definition=two)
    with refused("workflow_own_draft", status=403):
        define_workflow(**acting(house, by=who), definition=DEFINITION)
    known = in_force(house)
    assert known is not None
    assert (known.version, known.definition) == (1, two)
    assert define_workflow(**acting(house, by=who), definition=two).version == 1


@pytest.mark.parametrize("verb", [validate_draft, publish_draft, withdraw_draft])
def test_a_verb_is_told_what_was_seen(house: House, verb: Any) -> None:
    draft = save_draft(**acting(house), definition=DEFINITION)
    seen = definition_digest(DEFINITION).hex()
    save_draft(**acting(house), definition={**DEFINITION, "title": "Another"})
    validate_draft(**acting(house))
    with refused("workflow_draft_changed", status=409):
        verb(**acting(house), seen=seen)
    assert kinds_of(house.id, draft.id)[-1] == "workflow.validated"


def test_a_withdrawn_draft_makes_room_and_stays_on_record(house: House) -> None:
    draft = save_draft(**acting(house), definition=DEFINITION)
    withdraw_draft(**acting(house))
    with refused("not_found", status=404):
        publish_draft(**acting(house))
    assert save_draft(**acting(house), definition=DEFINITION).id != draft.id


@pytest.mark.parametrize("verb", [validate_draft, publish_draft, withdraw_draft])
def test_reviewers_and_strangers_change_nothing(house: House, verb: Any) -> None:
    save_draft(**acting(house), definition=DEFINITION)
    with refused("not_permitted", status=403):
        verb(**acting(house, by=house.bob.id))
    with refused("not_found", status=404):
        verb(**acting(house, by=house.charlie.id))
    with refused("not_permitted", status=403):
        save_draft(**acting(house, by=house.bob.id), definition={})


@pytest.mark.parametrize("kind", ["", "a b", "a/b", "x" * 64, "é"])
def test_a_kind_is_a_word(house: House, kind: str) -> None:
    with refused("workflow_invalid", status=422):
        save_draft(**acting(house, kind=kind), definition={})


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_shipped_can_be_used(kind: str) -> None:
    definition = shipped(kind)
    assert definition is not None
    check_definition(definition)


def test_the_shipped_invoice_workflow_is_that_of_the_example_agent() -> None:
    from examples.invoice.tool_definitions import WORKFLOW

    definition = shipped("invoice")
    assert definition is not None
    assert definition["stages"] == WORKFLOW["stages"]
    assert definition["schema_versions"] == WORKFLOW["schema_versions"]
    for name, field in WORKFLOW["fields"].items():
        assert {key: definition["fields"][name][key] for key in field} == field


@pytest.mark.parametrize("way", [save_draft, define_workflow])
def test_a_credential_is_refused_with_its_place_and_not_kept(
    house: House, way: Any
) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    definition = {"fields": {"a": {"description": f"Call it with {secret}."}}}
    place = "/definition/fields/a/description"
    with refused("secret_in_arguments", status=422, pointer=place):
        way(**acting(house), definition=definition)
    with tenant_transaction(house.id):
        assert not WorkflowDraft.objects.exists()
    assert in_force(house) is None
