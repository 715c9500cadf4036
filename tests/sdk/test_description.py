"""The SDK knows every operation, parameter and member that the API describes."""

import inspect
import typing
from dataclasses import fields, is_dataclass
from typing import Any

import pytest
import yaml
from django.conf import settings

from approvals.services.erasure import LEFTOVERS
from keyturn import Ask, Fact, Precondition, calls, documents, require_approval
from keyturn.artifacts import Type
from keyturn.asks import Risk, Verdict
from keyturn.client import AsyncClient, Client
from keyturn.documents import Unintelligible, read
from keyturn.drivers import Operation
from tests.sdk.samples import approval

DOCUMENT = settings.BASE_DIR / "docs/openapi.yaml"
DESCRIBED: Any = yaml.load(DOCUMENT.read_text(), yaml.CSafeLoader)
SCHEMAS = DESCRIBED["components"]["schemas"]
NAMES = {"get_head": "get_checkpoint", "restore_head": "restore_checkpoint"}
PLACES = {"id", "number", "name"}
NOT_HERE = {
    "stream_events",  # a stream without an end: tests/sdk/test_events.py
    "stream_audit",  # for machines that watch, with a key that opens nothing else
    "export_run",
}
HEADERS = {
    "Keyturn-Fence": "fence",
    "Idempotency-Key": "key",
    "Content-Disposition": "name",
    "Keyturn-Expires-In": "expires_in",
}
ELSEWHERE = {"If-Match", "If-None-Match"}  # `expected_version`; `poll_approval`
KINDS = {
    "ArtifactDocument": documents.Artifact,
    "DiffDocument": documents.StateDiff,
    "WorkflowDocument": documents.Workflow,
    "WorkflowSummary": documents.WorkflowSummary,
    "PlaceInHistory": documents.PlaceInHistory,
    "StateDocument": documents.State,
    "StandingApprovalDocument": documents.StandingApproval,
    "ForkDocument": documents.Fork,
    "RestoredDocument": documents.Restored,
    "BranchDocument": documents.Branch,
    "ContextDocument": documents.Context,
    "PoppedDocument": documents.Popped,
    "RemovedDocument": documents.Removed,
    "SummaryDocument": documents.Summary,
    "ApprovalDocument": documents.Approval,
    "ApprovalWithFence": documents.AskedApproval,
    "CheckpointDocument": documents.Checkpoint,
    "DecisionSummary": documents.DecisionSummary,
    "EffectDocument": documents.Effect,
    "EffectSummary": documents.EffectSummary,
    "FactDocument": documents.FactNow,
    "HandedEffect": documents.HandedEffect,
    "ItemDocument": documents.Item,
    "PauseDocument": documents.Pause,
    "RedeemedDocument": documents.Redeemed,
    "RunDocument": documents.RunDocument,
    "RunSummary": documents.RunSummary,
    "SavedDocument": documents.Saved,
    "SessionDocument": documents.Session,
    "TransitionDocument": documents.Transition,
    "VersionDocument": documents.Version,
}


def agents_operations() -> dict[str, Any]:
    return {
        one["operationId"]: one
        for path in DESCRIBED["paths"].values()
        for one in path.values()
        if {"apiKey": []} in one.get("security", [])
        and one["operationId"] not in NOT_HERE
    }


@pytest.mark.parametrize("name", sorted(agents_operations()))
def test_each_operation_of_agents_is_there_with_its_parameters(name: str) -> None:
    made = NAMES.get(name, name)
    for client in (Client, AsyncClient):
        assert isinstance(inspect.getattr_static(client, made), Operation)
    told = {
        HEADERS.get(one["name"], one["name"])
        for one in agents_operations()[name].get("parameters", [])
    }
    taken = set(inspect.signature(getattr(calls, made)).parameters)
    assert told - PLACES - ELSEWHERE <= taken


def test_each_type_of_a_file_can_be_said() -> None:
    described = SCHEMAS["ArtifactDocument"]["properties"]["type"]["$ref"]
    assert set(typing.get_args(Type)) == set(SCHEMAS[described.split("/")[-1]]["enum"])


def test_no_operation_decides() -> None:
    names = {name for name in dir(Client) if not name.startswith("_")}
    assert not [name for name in names if "decide" in name or "revoke" in name]
    assert len(agents_operations()) >= 27


@pytest.mark.parametrize("name", sorted(KINDS))
def test_each_document_has_the_members_that_are_described(name: str) -> None:
    kind: Any = KINDS[name]
    assert is_dataclass(kind)
    assert {one.name for one in fields(kind)} == set(SCHEMAS[name]["properties"])


@pytest.mark.parametrize(
    ("kind", "name"), [(Ask, "Ask"), (Fact, "Fact"), (Precondition, "Precondition")]
)
def test_each_question_can_say_what_is_described(kind: Any, name: str) -> None:
    assert {one.name for one in fields(kind)} == set(SCHEMAS[name]["properties"])


@pytest.mark.parametrize(
    ("literal", "name"),
    [(Risk, "RiskEnum"), (Verdict, "Verdict"), (documents.Next, "NextEnum")],
)
def test_words_are_those_that_are_described(literal: Any, name: str) -> None:
    assert set(typing.get_args(literal)) == set(SCHEMAS[name]["enum"])


def test_it_is_said_how_long_a_key_is_remembered() -> None:
    assert f"outside a run for {LEFTOVERS}" in str(require_approval.__doc__)


def test_what_is_not_known_yet_is_left_out() -> None:
    assert read(documents.Approval, approval(newer=1)).next == "wait"


@pytest.mark.parametrize(
    "flaw",
    [
        {"resolved": "yes"},
        {"revision": True},
        {"revision": "1"},
        {"decide_by": "soon"},
        {"effect": []},
        {"next": None},
    ],
    ids=repr,
)
def test_a_misshapen_answer_is_not_guessed_at(flaw: dict[str, Any]) -> None:
    with pytest.raises(Unintelligible):
        read(documents.Approval, approval(**flaw))


def test_a_missing_member_is_not_guessed_at() -> None:
    document = approval()
    del document["next"]
    with pytest.raises(Unintelligible):
        read(documents.Approval, document)
