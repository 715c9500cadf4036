"""How fast agents may ask: refused before anything is stored, and pointed out."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from approvals.models import Request
from audit.models import Entry
from kernel.clock import database_now
from kernel.ids import new_id
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from sessions.models import Session
from tenants.models import AskCount, Role
from tenants.services.quotas import limit_agent, limit_agents
from tests.approvals.stage import ARGUMENTS, Stage, fresh_stage
from tests.approvals.views.browsing import Reader, reader
from tests.concurrency import together
from tests.factories import fresh_agent, fresh_member
from tests.oversight.administering import text


@pytest.fixture
def stage() -> Stage:
    return fresh_stage()


def limit(stage: Stage, most: int | None) -> None:
    agent = stage.house.robot.agent.id
    by = stage.house.alice.id
    limit_agent(tenant_id=stage.tenant_id, by=by, agent_id=agent, per_minute=most)


def fill(stage: Stage, asked: int, **more: Any) -> None:
    """As if the agent had asked so much in this minute, and in the next one."""
    with tenant_transaction(stage.tenant_id):
        this = database_now().replace(second=0, microsecond=0)
        for minute in (this, this + timedelta(minutes=1)):
            AskCount.objects.create(
                tenant_id=stage.tenant_id,
                agent=stage.house.robot.agent,
                minute=minute,
                asked=asked,
                **more,
            )


def counted(stage: Stage) -> int:
    return sum(counts(stage))


def kept(stage: Stage) -> tuple[int, int]:
    with tenant_transaction(stage.tenant_id):
        return Request.objects.count(), Session.objects.count()


def ask(stage: Stage, key: str = "") -> Any:
    headers = {"Idempotency-Key": key or new_id().hex}
    said = {"tool": stage.tool.name, "arguments": ARGUMENTS, "subject": "c-7"}
    client = stage.house.robot.client(**headers)
    return client.post("/api/v1/approvals", said, content_type="application/json")


def test_beyond_its_number_nothing_is_stored(stage: Stage) -> None:
    key = new_id().hex
    first = ask(stage, key)
    assert first.status_code == 201
    limit(stage, 3)
    fill_up(stage, 3)
    before = kept(stage)
    refused = ask(stage)
    assert (refused.status_code, refused.json()["code"]) == (429, "quota_exceeded")
    assert 1 <= int(refused.headers["Retry-After"]) <= 60
    assert kept(stage) == before
    again = ask(stage, key)  # what was answered before is answered again
    assert (again.status_code, again.json()) == (201, first.json())


def fill_up(stage: Stage, asked: int) -> None:
    with tenant_transaction(stage.tenant_id):
        AskCount.objects.all().delete()
    fill(stage, asked)


def test_questions_count_and_not_pauses(stage: Stage) -> None:
    stage.ask_all([{}, {}])
    assert counted(stage) == 2
    limit(stage, 3)
    fill_up(stage, 2)
    with pytest.raises(Problem, match="quota_exceeded"):
        stage.ask_all([{}, {}])
    stage.ask()


def test_one_agents_number_is_no_others(stage: Stage) -> None:
    limit_agents(tenant_id=stage.tenant_id, by=stage.house.alice.id, per_minute=3)
    fill(stage, 3)
    with pytest.raises(Problem, match="quota_exceeded"):
        stage.ask()
    other = fresh_agent(stage.house.alice, name="other")
    said = {"tool": stage.tool.name, "arguments": ARGUMENTS}
    answer = other.client().post(
        "/api/v1/approvals", said, content_type="application/json"
    )
    assert answer.status_code == 201
    limit(stage, 4)
    stage.ask()


def now(stage: Stage) -> datetime:
    with tenant_transaction(stage.tenant_id):
        return database_now()


def counts(stage: Stage) -> list[int]:
    """What was asked in each minute."""
    with tenant_transaction(stage.tenant_id):
        return list(AskCount.objects.values_list("asked", flat=True))


def test_at_once_no_more_pass_than_may(stage: Stage) -> None:
    limit(stage, 7)
    runs = [stage.run() for _ in range(6)]
    began = now(stage)
    fill(stage, 5)
    answers = together(*[lambda run=run: stage.ask(run) for run in runs])
    passed = [one for one in answers if isinstance(one, Request)]
    refused = [one for one in answers if isinstance(one, Problem)]
    assert {one.code for one in refused} == {"quota_exceeded"}
    assert kept(stage)[0] == len(passed) == sum(counts(stage)) - 2 * 5
    # Where the minute ends meanwhile, the next one has room for two as well.
    assert max(counts(stage)) == 7
    if now(stage).minute == began.minute:
        assert len(passed) == 2


def test_it_costs_two_statements(stage: Stage) -> None:
    run = stage.run()
    with CaptureQueriesContext(connection) as captured:
        stage.ask(run)
    said = " ".join(one["sql"] for one in captured)
    assert said.count("coalesce(a.asks_per_minute") == 1
    assert said.count("keyturn_count_asked") == 1


def history(stage: Stage, hours: int, asked: int) -> None:
    """So many hours of which each had such a minute."""
    with tenant_transaction(stage.tenant_id):
        hour = database_now().replace(minute=0, second=0, microsecond=0)
        AskCount.objects.bulk_create(
            AskCount(
                tenant_id=stage.tenant_id,
                agent=stage.house.robot.agent,
                minute=hour - timedelta(hours=1 + number, minutes=-7),
                asked=asked,
            )
            for number in range(hours)
        )


def told(stage: Stage) -> list[Entry]:
    with tenant_transaction(stage.tenant_id):
        return list(Entry.objects.filter(kind="agent.unusual"))


def test_what_is_unusual_is_said_once_and_stops_nothing(stage: Stage) -> None:
    history(stage, hours=24, asked=4)
    fill(stage, 12)
    stage.ask()
    last = stage.ask()
    (entry,) = told(stage)
    agent = stage.house.robot.agent
    assert (entry.subject_type, entry.actor_type) == ("request", "system")
    assert "Unusual pace" in text(reader(stage).get("queue"))
    assert reader(stage).case(last.id).unusual
    alice = reader(stage, stage.house.alice)
    assert "It asks far more than it used to" in text(alice.get(f"agents/{agent.id}"))


@pytest.mark.parametrize(
    ("hours", "asked", "lately"),
    [(23, 1, 90), (24, 30, 80), (24, 1, 8)],
    ids=["too little to say", "as usual", "too few to matter"],
)
def test_what_is_as_usual_is_not_said(
    hours: int, asked: int, lately: int, stage: Stage
) -> None:
    run = stage.run()
    history(stage, hours=hours, asked=asked)
    fill(stage, lately)
    began = now(stage)
    stage.ask(run)
    if now(stage).hour != began.hour:
        return  # what was of this hour is of the past now, and usual
    assert told(stage) == []
    assert "Unusual pace" not in text(reader(stage).get("queue"))


@pytest.fixture
def alice(stage: Stage) -> Reader:
    return reader(stage, stage.house.alice)


def test_admins_limit_agents_on_their_pages(stage: Stage, alice: Reader) -> None:
    page = f"agents/{stage.house.robot.agent.id}"
    assert alice.post(page, {"act": "limit", "per_minute": "5"}).status_code == 303
    assert alice.get(page).context["agent"].pace.most == 5
    assert alice.post("agents", {"act": "limit", "per_minute": "9"}).status_code == 303
    assert alice.post(page, {"act": "limit", "per_minute": ""}).status_code == 303
    assert alice.get(page).context["agent"].pace.most == 9
    for wrong in ("0", "-1", "x", "1000000"):
        answer = alice.post(page, {"act": "limit", "per_minute": wrong})
        assert answer.status_code == 422
        assert answer.context["agent"].quota_form.typed["per_minute"] == wrong
        assert (
            alice.post("agents", {"act": "limit", "per_minute": wrong}).status_code
            == 422
        )


@pytest.mark.parametrize("role", [Role.REVIEWER, Role.AUDITOR, Role.DEVELOPER])
def test_nobody_else_does(stage: Stage, role: Role) -> None:
    dora = fresh_member(stage.house.alice, "Dora", role=role)
    agent = stage.house.robot.agent.id
    for change in (
        lambda: limit_agents(tenant_id=stage.tenant_id, by=dora.id, per_minute=9),
        lambda: limit_agent(
            tenant_id=stage.tenant_id, by=dora.id, agent_id=agent, per_minute=9
        ),
    ):
        with pytest.raises(Problem, match="not_permitted"):
            change()


def test_another_tenants_agent_is_not_found(stage: Stage) -> None:
    other = fresh_stage()
    with pytest.raises(Problem, match="not_found"):
        limit_agent(
            tenant_id=other.tenant_id,
            by=other.house.alice.id,
            agent_id=stage.house.robot.agent.id,
            per_minute=1,
        )
