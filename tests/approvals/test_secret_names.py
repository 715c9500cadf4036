"""Names of secrets in a question: refused, shown, and judged again at the call."""

from typing import Any

from approvals.models import Decision, ResumeJob
from approvals.resume.work import work
from checkpoints.models import Attempt, Effect
from checkpoints.services import register_secret, revoke_secret
from kernel.scope import tenant_transaction
from tests.api import Api
from tests.approvals.stage import ARGUMENTS, Stage, fresh_stage
from tests.approvals.tool_server import ToolServer
from tests.approvals.views.browsing import reader
from tests.refusals import refused

V = Decision.Verdict
NAMED = ARGUMENTS | {"payee": "secret://erp_token"}


def managed(server: ToolServer, **terms: Any) -> Stage:
    return fresh_stage("managed", **server.definition(**terms))


def register(stage: Stage, name: str = "erp_token") -> None:
    who = {"tenant_id": stage.tenant_id, "by": stage.house.alice.id}
    register_secret(**who, name=name, tool="pay")


def revoke(stage: Stage) -> None:
    who = {"tenant_id": stage.tenant_id, "by": stage.house.alice.id}
    revoke_secret(**who, name="erp_token")


def test_an_agent_is_told_which_name_it_may_not_use(tool_server: ToolServer) -> None:
    stage = managed(tool_server)
    api = Api.of(stage.house.robot)
    body = {"tool": "pay", "arguments": NAMED}

    answer = api.post("approvals", body)
    assert answer.status_code == 422
    said = answer.json()
    assert (said["code"], said["pointer"]) == ("secret_unknown", "/arguments/payee")
    answer = api.post("approvals", {"tool": "unheard_of", "arguments": NAMED})
    assert answer.json()["code"] == "secret_needs_managed_tool"
    register(stage)
    assert api.post("approvals", body).status_code == 201


def test_a_header_without_its_name_stops_the_question(tool_server: ToolServer) -> None:
    stage = managed(tool_server, headers={"X-Key": "Token secret://erp_token"})
    with refused("secret_unknown", pointer="/requests/0/tool"):
        stage.ask()
    register(stage)
    stage.ask()


def test_an_editor_is_held_to_the_same(tool_server: ToolServer) -> None:
    stage = managed(tool_server)
    request = stage.ask()
    with refused("secret_unknown", pointer="/arguments/payee"):
        stage.answer(request, verdict=V.EDIT, arguments=NAMED)


def test_a_name_that_was_revoked_after_the_approval_is_not_filled_in(
    tool_server: ToolServer,
) -> None:
    stage = managed(tool_server)
    register(stage)
    request = stage.ask(arguments=NAMED)
    stage.answer(request)
    revoke(stage)
    with tenant_transaction(stage.tenant_id):
        job = ResumeJob.objects.get(request=request)
    assert work(job.id) == "failed"

    assert tool_server.calls() == 0
    with tenant_transaction(stage.tenant_id):
        assert Effect.objects.get(request=request.id).state == "failed"
        told = Attempt.objects.get().evidence["told"]["evidence"]
    assert told == {"sent": False, "code": "secret_unknown", "secret": "erp_token"}


def test_the_case_says_what_a_name_is_for_and_when_it_is_for_nothing(
    tool_server: ToolServer,
) -> None:
    stage = managed(tool_server, headers={"X-Key": "secret://other"})
    register(stage)
    register(stage, "other")
    request = stage.ask(arguments=NAMED)
    browser = reader(stage)
    host = tool_server.definition()["url"].rpartition("/")[0]

    shown = browser.case(request.id).exact.secrets
    assert [(one.name, one.place, one.tool, one.host, one.why) for one in shown] == [
        ("secret://erp_token", "/payee", "pay", host, ""),
        ("secret://other", "header X-Key", "pay", host, ""),
    ]
    revoke(stage)
    assert [bool(one.why) for one in browser.case(request.id).exact.secrets] == [
        True,
        False,
    ]
    page = browser.get(f"queue/{request.id}").content.decode()
    assert "No secret of this name is registered." in page
    assert "The call would be refused." in page
