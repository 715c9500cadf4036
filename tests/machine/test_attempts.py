"""Two workers and one action: what the company's system sees of it."""

from collections.abc import Iterator
from typing import Any

import pytest

from approvals.models import Request
from approvals.resume.work import work
from checkpoints.models import Attempt, Effect
from kernel.scope import tenant_transaction
from tests.approvals.stage import ARGUMENTS, Stage, fresh_stage
from tests.approvals.test_resume import jobs_of, make_due
from tests.machine.company import Company, System
from tests.machine.workers import Held, armed


@pytest.fixture
def company(settings: Any) -> Iterator[Company]:
    settings.ALLOW_PRIVATE = ["127.0.0.0/8"]
    company = Company()
    with armed():
        yield company
    company.close()


def approved(
    company: Company, *, honours_keys: bool = False, **terms: Any
) -> tuple[Stage, Request, System]:
    system, place = company.system(honours_keys=honours_keys)
    stage = fresh_stage("managed", **place, **terms)
    request = stage.ask()
    stage.answer(request)
    return stage, request, system


def attempts_of(stage: Stage) -> list[tuple[int, int]]:
    with tenant_transaction(stage.tenant_id):
        attempts = Attempt.objects.order_by("number")
        return [(one.number, one.fence) for one in attempts]


def test_a_further_attempt_is_the_same_action_under_a_newer_fence(
    company: Company,
) -> None:
    stage, request, system = approved(company)
    system.behaviour = "drop before commit"
    job = jobs_of(stage, request)[0]
    assert work(job.id) == "unknown"
    system.behaviour = "confirm"
    make_due(stage, request)
    assert work(job.id) == "confirmed"
    first, second = system.calls
    assert (first.key, first.body) == (second.key, second.body)
    assert second.body == b'{"amount":"1240.00","payee":"Halden Paper Supply"}'
    assert ARGUMENTS == {"amount": "1240.00", "payee": "Halden Paper Supply"}
    assert [(one.attempt, one.fence) for one in system.calls] == attempts_of(stage)
    assert second.fence > first.fence


def test_a_worker_that_was_taken_for_dead_records_nothing(company: Company) -> None:
    """It had its answer, and slept; meanwhile another asked the tool."""
    stage, request, system = approved(company)
    job = jobs_of(stage, request)[0]
    sleeper = Held(job.id, "outcome")
    make_due(stage, request)
    assert work(job.id) == "confirmed"
    assert sleeper.go_on() == "taken_over"
    assert list(system.done.values()) == [1]
    with tenant_transaction(stage.tenant_id):
        effect = Effect.objects.get(request=request.id)
        assert (effect.state, effect.attempt) == ("confirmed", 1)


def test_a_worker_that_was_taken_for_dead_does_not_even_add_what_it_knows(
    company: Company,
) -> None:
    """Whoever has the job now finds it out; two who write would write over each other."""
    stage, request, system = approved(company)
    job = jobs_of(stage, request)[0]
    sleeper, system.tells = Held(job.id, "outcome"), False
    with tenant_transaction(stage.tenant_id):
        type(job).objects.filter(id=job.id).update(due_at=job.created_at)
    assert work(job.id) == "effects.settling"
    assert sleeper.go_on() == "taken_over"
    system.tells = True
    make_due(stage, request)
    assert work(job.id) == "confirmed"
    assert list(system.done.values()) == [1]


def test_what_arrives_late_is_no_second_effect(company: Company) -> None:
    """It hung up, it had not acted when it was asked, and it acts after all."""
    stage, request, system = approved(company, settle=60)
    system.behaviour = "commit later"
    job = jobs_of(stage, request)[0]
    assert work(job.id) == "unknown"
    with tenant_transaction(stage.tenant_id):
        type(job).objects.filter(id=job.id).update(due_at=job.created_at)
    assert work(job.id) == "effects.settling"
    system.land()
    make_due(stage, request)
    assert work(job.id) == "confirmed"
    assert (len(system.calls), list(system.done.values())) == (1, [1])
