"""A client that a generator made of `docs/openapi.yaml`, and nobody helped."""

import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from django.conf import settings
from django.core.wsgi import get_wsgi_application

from approvals.models import Request, ResumeJob
from approvals.resume.work import work
from kernel.scope import tenant_transaction
from tests.approvals.stage import ARGUMENTS, Stage, fresh_stage

DOCUMENT = settings.BASE_DIR / "docs" / "openapi.yaml"

# One generator for all of them.
pytestmark = pytest.mark.xdist_group("generated-client")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The generated package, which can be imported."""
    folder = tmp_path_factory.mktemp("generated")
    words = ("generate", "--path", str(DOCUMENT), "--meta", "none")
    program = str(Path(sys.executable).parent / "openapi-python-client")
    subprocess.run(
        [program, *words, "--output-path", str(folder / "made")],
        check=True,
        capture_output=True,
    )
    sys.path.insert(0, str(folder))
    yield folder / "made"
    sys.path.remove(str(folder))


@pytest.fixture
def stage() -> Stage:
    return fresh_stage()


@pytest.fixture
def client(made: Path, stage: Stage) -> Any:
    transport = httpx.WSGITransport(app=get_wsgi_application())
    return import_module("made").AuthenticatedClient(
        base_url="http://testserver",
        token=stage.house.robot.text,
        httpx_args={"transport": transport},
    )


def call(name: str) -> Any:
    """The generated module of an operation."""
    return import_module(f"made.api.{name}")


def models() -> Any:
    return import_module("made.models")


def verified(stage: Stage, id: Any) -> None:
    with tenant_transaction(stage.tenant_id):
        job = ResumeJob.objects.get(request_id=id)
    work(job.id)


def test_every_operation_became_a_function(made: Path) -> None:
    described = yaml.load(DOCUMENT.read_text(), yaml.CSafeLoader)["paths"].values()
    wanted = {one["operationId"] for path in described for one in path.values()}
    found = {one.stem for one in made.glob("api/*/*.py")} - {"__init__"}
    assert found == wanted


def test_it_asks_waits_redeems_and_reports(client: Any, stage: Stage) -> None:
    arguments = models().OneCallArguments.from_dict(ARGUMENTS)
    body = models().OneCall(tool="pay", arguments=arguments, subject="customer-7")
    ask = call("approvals.request_approval").sync
    asked = ask(client=client, body=body, idempotency_key="INV-1042")
    assert ask(client=client, body=body, idempotency_key="INV-1042").id == asked.id
    stage.answer(Request(id=asked.id))
    verified(stage, asked.id)
    found = call("approvals.get_approval").sync(asked.id, client=client)
    assert (str(found.status), str(found.next_)) == ("approved", "redeem")
    handed = call("approvals.redeem_approval").sync(
        asked.id, client=client, body=models().Nothing(), keyturn_fence=asked.fence
    )
    assert handed.effect.arguments.to_dict() == ARGUMENTS
    told = call("effects.report_effect").sync(
        handed.effect.id,
        client=client,
        body=models().Report.from_dict({"attempt": 1, "outcome": "confirmed"}),
        keyturn_fence=handed.effect.fencing_token,
    )
    assert str(told.state) == "confirmed"
    again = call("approvals.get_approval").sync(asked.id, client=client)
    assert str(again.next_) == "done"


def test_a_refusal_is_a_value_of_its_own_kind(client: Any) -> None:
    body = models().OneCall.from_dict({"tool": "pay", "arguments": {"payee": 7}})
    flaw = call("approvals.request_approval").sync(client=client, body=body)
    assert isinstance(flaw, models().Problem)
    assert (flaw.status, flaw.code) == (422, "arguments_invalid")
    assert flaw.pointer.startswith("/arguments")


def test_it_asks_in_another_frameworks_words(client: Any, stage: Stage) -> None:
    body = models().HITLRequest.from_dict(
        {
            "action_requests": [{"name": "pay", "args": ARGUMENTS}],
            "review_configs": [{"action_name": "pay", "allowed_decisions": ["edit"]}],
        }
    )
    asked = call("compat.ask_hitl_request").sync(client=client, body=body)
    assert asked.response is None
    (request,) = asked.requests
    stage.answer(Request(id=request.id), verdict="reject", reason="No")
    verified(stage, request.id)
    found = call("compat.get_hitl_response").sync(asked.id, client=client)
    (decision,) = found.response.decisions
    assert (str(decision.type_), decision.message) == ("reject", "No")
