"""Other frameworks' bodies, and what is made of the answers."""

from typing import Any

from ag_ui.core import ResumeEntry
from django.test import AsyncClient

from approvals.models import Request, ResumeJob
from approvals.resume.work import work
from kernel.scope import tenant_transaction
from tests.api.traces import trace
from tests.approvals.stage import ARGUMENTS, Stage

EVERYTHING = ["approve", "edit", "reject", "respond"]
OTHERS = {**ARGUMENTS, "amount": "80.00"}
HITL, HUMAN, RESUMES = (
    f"compat/{name}" for name in ("hitl-requests", "human-interrupts", "resumes")
)


def asking(*arguments: dict[str, Any], allowed: list[str] = EVERYTHING) -> Any:
    """A `HITLRequest` for so many payments."""
    return {
        "action_requests": [{"name": "pay", "args": one} for one in arguments],
        "review_configs": [{"action_name": "pay", "allowed_decisions": allowed}],
    }


def made(answer: Any, status: int = 201) -> Any:
    assert answer.status_code == status, answer.content
    return answer.json()


def flaw(answer: Any) -> tuple[int, str, str | None]:
    document = answer.json()
    return answer.status_code, document["code"], document.get("pointer")


def rows(stage: Stage, document: Any) -> list[Request]:
    ids = [one["id"] for one in document["requests"]]
    with tenant_transaction(stage.tenant_id):
        found = Request.objects.in_bulk(ids, field_name="id")
        return [found[one] for one in sorted(found, key=lambda id: ids.index(str(id)))]


def verified(stage: Stage, *requests: Request) -> None:
    with tenant_transaction(stage.tenant_id):
        jobs = list(ResumeJob.objects.filter(request__in=requests))
    for job in jobs:
        work(job.id)


def traced(stage: Stage) -> Any:
    return trace(stage.tenant_id)


def get(machine: Any, place: str) -> Any:
    headers = {"Authorization": f"Bearer {machine.text}"}
    return AsyncClient().get(f"/api/v1/{place}", headers=headers)


def entry(request: Request | Any, status: Any, payload: Any = None) -> dict[str, Any]:
    id = str(getattr(request, "id", request))
    sent = ResumeEntry(interrupt_id=id, status=status, payload=payload)
    return sent.model_dump(by_alias=True, mode="json", exclude_none=True)
