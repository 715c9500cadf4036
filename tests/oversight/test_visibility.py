"""What pages show of facts: to reviewers not what is for overseers, and nothing as current
that has lapsed; and what they say of an erased session."""

from typing import Any

import pytest

from approvals.models import Request
from approvals.resume.purging import purge_tenant
from approvals.services.erasure import erase_session
from sessions.contract import Claim
from sessions.models import Provenance, Run
from sessions.services import (
    define_workflow,
    open_session,
    record_transition,
    start_run,
)
from tenants.checks import Operator
from tenants.models import Role
from tests.approvals.stage import Stage, fresh_stage
from tests.approvals.views.browsing import reader
from tests.checkpoints.tampering import superuser_says
from tests.factories import Somebody, fresh_member

DEFINITION: dict[str, Any] = {
    "fields": {
        "open": {"lifetime": 60},
        "private": {"visibility": "people"},
        "secret": {"visibility": "overseers"},
    }
}
WORDS = {name: f"value-of-{name}" for name in DEFINITION["fields"]}
WITHHELD = "withheld: for those who oversee"


@pytest.fixture
def stage() -> Stage:
    return fresh_stage()


@pytest.fixture
def asked(stage: Stage) -> Request:
    """A question of a run that states each field; one precondition is on the secret."""
    who = stage.house.robot.principal
    define_workflow(
        tenant_id=stage.tenant_id,
        by=Operator.CONSOLE,
        kind="declared",
        definition=DEFINITION,
    )
    session = open_session(who=who, subject="customer-7")
    run, _ = start_run(who=who, session_id=session.id, workflow="declared")
    state(stage, run, **WORDS)
    return stage.ask(run, preconditions=({"field": "secret"}, {"field": "open"}))


def state(stage: Stage, run: Run, **values: str) -> None:
    facts = {
        name: Claim(
            value=value, provenance=Provenance.USER, reference=f"proof-of-{name}"
        )
        for name, value in values.items()
    }
    record_transition(
        who=stage.house.robot.principal,
        run_id=run.id,
        fence=run.fence,
        expected_version=stage.fresh(run).version,
        facts=facts,
        reason="Told.",
    )


def places(asked: Request) -> dict[str, str]:
    run = f"runs/{asked.run_id}"
    return {
        "case": f"queue/{asked.id}",
        "run": run,
        "state": f"{run}/state?before=0&after=1",
        "trace": f"{run}/trace",
    }


def shown(stage: Stage, path: str, by: Somebody | None = None) -> str:
    answer = reader(stage, by).get(path)
    assert answer.status_code == 200
    return str(answer.content.decode())


@pytest.mark.parametrize("page", ["case", "run", "state", "trace"])
def test_a_reviewer_reads_the_name_and_not_the_value(
    page: str, stage: Stage, asked: Request
) -> None:
    html = shown(stage, places(asked)[page])
    assert WORDS["private"] in html
    assert WORDS["secret"] not in html
    assert "proof-of-secret" not in html
    assert ">secret</code>" in html
    assert WITHHELD in html


@pytest.mark.parametrize("page", ["case", "run", "state", "trace"])
@pytest.mark.parametrize("role", [Role.ADMIN, Role.AUDITOR])
def test_who_oversees_reads_it(
    page: str, role: Role, stage: Stage, asked: Request
) -> None:
    somebody = fresh_member(stage.house.alice, "Dora", role=role)
    html = shown(stage, places(asked)[page], somebody)
    assert WORDS["secret"] in html
    assert WITHHELD not in html


@pytest.mark.parametrize("page", ["case", "run"])
def test_a_fact_that_lapsed_is_not_shown_as_current(
    page: str, stage: Stage, asked: Request
) -> None:
    assert "lapsed: counts as not stated" not in shown(stage, places(asked)[page])
    superuser_says(
        "update agent_sessions_fact set observed_at = observed_at"
        f" - interval '61 seconds' where run_id = '{asked.run_id}'"
    )
    assert shown(stage, places(asked)[page]).count("lapsed: counts as not stated") == 1
    wanted = {row.field: row for row in reader(stage).case(asked.id).preconditions}
    assert (wanted["secret"].holds, wanted["secret"].current) == (True, None)
    assert wanted["open"].holds is False


@pytest.mark.parametrize("page", ["case", "run"])
def test_a_page_of_an_erased_session_says_so(
    page: str, stage: Stage, asked: Request
) -> None:
    said = "data was erased on"
    assert said not in shown(stage, places(asked)[page])
    where = {"tenant_id": stage.tenant_id, "by": Operator.CONSOLE}
    erase_session(**where, session_id=asked.session_id)
    for _ in range(2):
        html = shown(stage, places(asked)[page])
        assert html.count(said) == 1
        assert "UTC</strong>" in html
        purge_tenant(stage.tenant_id)
    assert WORDS["private"] not in html
