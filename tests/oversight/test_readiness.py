"""Ready for production? Each check says what is so, and what to do about it."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission

from approvals.models import Queue, QueueGroupPermission
from approvals.services.queues import create_queue
from kernel.clock import database_now
from kernel.ids import new_id
from kernel.scope import tenant_transaction
from oversight import examination
from oversight.examination import Finding
from oversight.models import Verification
from tenants.models import Role, SingleSignOn, User
from tenants.queries import NO_ADDRESS, password_members
from tenants.services import deactivate_member
from tests.approvals.stage import Stage, fresh_stage
from tests.approvals.views.browsing import reader
from tests.factories import fresh_key, fresh_member
from tests.oversight.administering import statements


@pytest.fixture
def stage() -> Stage:
    return fresh_stage()


def shown(stage: Stage) -> Any:
    answer = reader(stage, stage.house.alice).get("readiness")
    assert answer.status_code == 200
    return answer.context["ready"]


def check(stage: Stage, name: str) -> Any:
    checks = [one for area in shown(stage).areas for one in area.checks]
    return next(one for one in checks if one.name == name)


def by(stage: Stage) -> dict[str, Any]:
    return {"tenant_id": stage.tenant_id, "by": stage.house.alice.id}


def test_people_are_named_who_lack_something(stage: Stage) -> None:
    assert check(stage, "Owners").state == "warning"
    assert str(stage.house.alice.user) in check(stage, "Second factors").found
    assert str(stage.bob.user) not in check(stage, "Second factors").found
    fresh_member(stage.house.alice, "Olga", role=Role.OWNER)
    assert check(stage, "Owners").state == "ok"
    assert check(stage, "Four eyes").state == "ok"


def test_whoever_comes_by_the_provider_alone_has_their_second_factor_there(
    stage: Stage,
) -> None:
    ada = fresh_member(stage.house.alice, "Ada", role=Role.ADMIN)
    assert str(ada.user) in check(stage, "Second factors").found
    User.objects.filter(id=ada.user.id).update(email=f"{new_id()}@{NO_ADDRESS}")
    said = check(stage, "Second factors").found
    assert str(ada.user) not in said
    assert str(stage.house.alice.user) in said


def test_where_no_password_is_taken_nobody_lacks_a_second_factor(stage: Stage) -> None:
    with tenant_transaction(stage.tenant_id):
        SingleSignOn.objects.create(
            tenant_id=stage.tenant_id, issuer="https://id.example", sealed=b""
        )
        assert password_members(stage.tenant_id).count() == 2
        SingleSignOn.objects.update(refuses_passwords=True)
        assert not password_members(stage.tenant_id).exists()


def test_every_queue_is_looked_at_however_many_there_are(stage: Stage) -> None:
    """In as many statements as the two that are looked at first."""
    stage.reviewer()
    few = statements(reader(stage, stage.house.alice), "readiness")
    with tenant_transaction(stage.tenant_id):
        decide = Permission.objects.get(codename="decide", content_type__model="queue")
        queues = Queue.objects.bulk_create(
            Queue(tenant_id=stage.tenant_id, slug=f"more-{n:02}", name=f"More {n}")
            for n in range(60)
        )
        QueueGroupPermission.objects.bulk_create(
            QueueGroupPermission(
                tenant_id=stage.tenant_id,
                content_object=queue,
                permission=decide,
                group_id=stage.house.reviewers.django_group_id,
            )
            for queue in queues[:-1]
        )
    found = check(stage, "Deciders")
    assert (found.state, found.found) == ("failed", "nobody decides on More 59")
    assert statements(reader(stage, stage.house.alice), "readiness") == few


def test_a_queue_that_nobody_decides_on_fails_it(stage: Stage) -> None:
    stage.reviewer()
    assert check(stage, "Deciders").state == "ok"
    create_queue(**by(stage), slug="empty", name="Empty", default=False)
    found = check(stage, "Deciders")
    assert (found.state, "Empty" in found.found) == ("failed", True)
    assert shown(stage).grade == "not"


def test_what_is_asked_is_looked_at(stage: Stage) -> None:
    assert check(stage, "Policies").state == "warning"
    stage.policy(rules=[{"approvals": 1}])
    assert check(stage, "Policies").state == "ok"
    assert check(stage, "Keys").found == "1 of 1 never end"
    fresh_key(
        stage.house.alice,
        stage.house.robot.agent,
        expires_at=database_now_of(stage) + timedelta(days=1),
    )
    assert check(stage, "Keys").found == "1 of 2 never end"
    stage.ask(tool="unheard_of")
    assert "unheard_of" in check(stage, "Tools").found


def test_an_agent_that_nobody_answers_for_fails_it(stage: Stage) -> None:
    assert check(stage, "Agents").state == "ok"
    olga = fresh_member(stage.house.alice, "Olga", role=Role.OWNER)
    deactivate_member(
        tenant_id=stage.tenant_id, by=olga.id, member_id=stage.house.alice.id
    )
    answer = reader(stage, olga).get("readiness")
    checks = [one for area in answer.context["ready"].areas for one in area.checks]
    found = next(one for one in checks if one.name == "Agents")
    assert (found.state, stage.house.robot.agent.name in found.found) == (
        "failed",
        True,
    )


@pytest.mark.parametrize(
    ("state", "days", "graded"),
    [("intact", 1, "ok"), ("intact", 8, "warning"), ("broken", 1, "failed")],
)
def test_the_record_is_to_be_verified(
    stage: Stage, state: str, days: int, graded: str
) -> None:
    assert check(stage, "Log verified").state == "warning"
    with tenant_transaction(stage.tenant_id):
        ended = database_now() - timedelta(days=days)
        Verification.objects.create(
            tenant_id=stage.tenant_id,
            asked_by_id=stage.house.alice.id,
            state=state,
            heard_at=ended,
            ended_at=ended,
        )
    assert check(stage, "Log verified").state == graded


def test_the_installation_is_for_those_who_may_know_it(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [Finding(name="broker", state="failed", detail="<b>no answer</b>")]
    monkeypatch.setattr(examination, "_examine", [lambda: found])
    view = shown(stage)
    assert [(row.name, bool(row.advice)) for row in view.findings] == [("broker", True)]
    assert "HTTPS" in [one.name for area in view.areas for one in area.checks]
    html = reader(stage, stage.house.alice).get("readiness").content.decode()
    assert "<b>no" not in html
    monkeypatch.setattr(examination, "_examine", [])
    view = shown(stage)
    assert view.findings == ()
    assert "HTTPS" not in [one.name for area in view.areas for one in area.checks]


def test_only_who_administers_sees_it(stage: Stage) -> None:
    auditor = fresh_member(stage.house.alice, "Aud", role=Role.AUDITOR)
    for who in (stage.bob, auditor):
        assert reader(stage, who).get("readiness").status_code == 403


def database_now_of(stage: Stage) -> Any:
    with tenant_transaction(stage.tenant_id):
        return database_now()
