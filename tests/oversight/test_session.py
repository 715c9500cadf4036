"""What a session keeps: files that are downloaded and never shown, and legal holds."""

from typing import Any

import pytest

from approvals.models import Request
from approvals.services.erasure import erase_session
from audit.models import Entry
from kernel.scope import tenant_transaction
from oversight.pages import session as pages
from sessions.models import Artifact, Hold
from sessions.services import Upload, put_artifact
from sessions.services.retention import place_hold
from sessions.services.runs import start_run
from tenants.checks import Operator
from tenants.models import Role
from tests.approvals.stage import Stage, fresh_stage
from tests.approvals.superuser import superuser
from tests.approvals.views.browsing import reader
from tests.checkpoints.tampering import tamper
from tests.factories import Somebody, fresh_member

BY = Operator.CONSOLE
PAGE = b"<script>alert(1)</script>"


@pytest.fixture
def stage() -> Stage:
    return fresh_stage()


@pytest.fixture
def asked(stage: Stage) -> Request:
    return stage.ask()


def put(stage: Stage, asked: Request, content: bytes = PAGE, **more: Any) -> Artifact:
    upload = Upload(content=content, media_type="text/plain", **more)
    who = stage.house.robot.principal
    put = put_artifact(who=who, session_id=asked.session_id, upload=upload).artifact
    _before_asking(put)
    return put


def _before_asking(put: Artifact) -> None:
    """As if it had been there when the question came."""
    with superuser() as connection:
        connection.execute(
            "UPDATE agent_sessions_artifact SET created_at = created_at - interval '1 h'"
            " WHERE id = %s",
            [put.id],
        )


def session(stage: Stage, asked: Request, by: Somebody | None = None) -> Any:
    return reader(stage, by).get(f"runs/{asked.run_id}/session")


def admin(stage: Stage) -> Somebody:
    return fresh_member(stage.house.alice, "Erin", role=Role.ADMIN)


def holds(stage: Stage) -> list[Hold]:
    with tenant_transaction(stage.tenant_id):
        return list(Hold.objects.filter(tenant_id=stage.tenant_id, lifted_at=None))


# -- Files ------------------------------------------------------------------------------


def test_a_file_is_listed_with_size_type_and_end(stage: Stage, asked: Request) -> None:
    assert "No file is kept here" in session(stage, asked).content.decode()
    put(stage, asked, name="a\u202eb<i>.txt", expires_in=3 * 24 * 3_600 + 60)
    html = session(stage, asked).content.decode()
    assert "No file is kept here" not in html
    assert "25\xa0bytes" in html
    assert "text/plain" in html
    assert ">3 days<" in html
    assert "<i>.txt" not in html
    assert "\u202e" not in html
    run = reader(stage).get(f"runs/{asked.run_id}").content.decode()
    assert "1 file" in run
    assert f"runs/{asked.run_id}/session" in run


def test_a_file_is_downloaded_and_no_browser_shows_it(
    stage: Stage, asked: Request
) -> None:
    file = put(stage, asked, name="page.html")
    html = session(stage, asked).content.decode()
    place = f"runs/{asked.run_id}/files/{file.digest}"
    assert place in html
    answer = reader(stage).get(place)
    assert answer.content == PAGE
    assert answer["Content-Disposition"] == 'attachment; filename="page.html.txt"'
    assert answer["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert "no-store" in answer["Cache-Control"]


def test_a_file_is_for_those_who_see_the_run(stage: Stage, asked: Request) -> None:
    place = f"runs/{asked.run_id}/files/{put(stage, asked).digest}"
    blind = fresh_member(stage.house.alice, "Dora")
    assert reader(stage, blind).get(place).status_code == 404
    assert reader(stage, admin(stage)).get(place).status_code == 200
    elsewhere = stage.ask()
    wrong = place.replace(str(asked.run_id), str(elsewhere.run_id))
    assert reader(stage).get(wrong).status_code == 404


def test_what_came_after_the_question_is_for_those_who_oversee(
    stage: Stage, asked: Request
) -> None:
    """The session may have gone on to what is asked on a queue that Bob does not see."""
    who, upload = (
        stage.house.robot.principal,
        Upload(content=b"late", media_type="text/plain", name="late.txt"),
    )
    late = put_artifact(who=who, session_id=asked.session_id, upload=upload).artifact
    path = f"runs/{asked.run_id}/files/{late.digest}"
    assert "late.txt" not in session(stage, asked).content.decode()
    assert reader(stage).get(path).status_code == 404
    assert "late.txt" in session(stage, asked, stage.house.alice).content.decode()
    assert reader(stage, stage.house.alice).get(path).status_code == 200
    other, _ = start_run(who=who, session_id=asked.session_id)
    stage.ask(other)
    assert "late.txt" in session(stage, asked).content.decode()
    assert reader(stage).get(path).status_code == 200


def test_a_changed_file_is_refused_on_the_page(stage: Stage, asked: Request) -> None:
    file = put(stage, asked)
    tamper("agent_sessions_artifact", "media_type = 'text/csv'", file.id)
    answer = reader(stage).get(f"runs/{asked.run_id}/files/{file.digest}")
    assert answer.status_code == 409
    assert "artifact_unreadable" in answer.content.decode()
    assert PAGE not in answer.content


def test_files_come_in_pages(
    stage: Stage, asked: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "PAGE", 2)
    for number in range(5):
        put(stage, asked, b"%d" % number, name=f"file-{number}")
    place, seen = f"runs/{asked.run_id}/session", []
    while place:
        view = reader(stage).get(place).context["session"]
        seen.append([row.name for row in view.files])
        place = view.pages.next_href.partition(f"{stage.house.tenant.slug}/")[2]
    assert seen == [["file-4", "file-3"], ["file-2", "file-1"], ["file-0"]]


def test_an_erased_session_says_so_and_has_no_file(
    stage: Stage, asked: Request
) -> None:
    file = put(stage, asked, name="secret-name")
    erase_session(tenant_id=stage.tenant_id, by=BY, session_id=asked.session_id)
    html = session(stage, asked, admin(stage)).content.decode()
    assert "data was erased on" in html
    assert "secret-name" not in html
    assert "Place a hold" not in html
    gone = reader(stage).get(f"runs/{asked.run_id}/files/{file.digest}")
    assert gone.status_code == 410


def test_a_case_links_the_files_that_its_arguments_name(stage: Stage) -> None:
    run = stage.run()
    upload = Upload(content=PAGE, media_type="text/plain", name="bill.txt")
    who = stage.house.robot.principal
    put = put_artifact(who=who, session_id=run.session_id, upload=upload)
    there, missing = put.artifact.digest, "ab" * 32
    named = f"artifact:{there} artifact:{missing}"
    asked = stage.ask(run, arguments={"payee": named, "amount": "1.00"})
    found, lost = reader(stage).case(asked.id).files
    assert (found.digest, found.name, found.size) == (there, "bill.txt", len(PAGE))
    assert reader(stage).client.get(found.href).content == PAGE
    assert (lost.digest, lost.href) == (missing, "")
    html = reader(stage).get(f"queue/{asked.id}").content.decode()
    assert "Not there:" in html
    longer = stage.ask(arguments={"payee": f"artifact:{there}0", "amount": "1.00"})
    assert reader(stage).case(longer.id).files == ()
    other = stage.ask(arguments={"payee": named, "amount": "2.00"})
    assert [one.href for one in reader(stage).case(other.id).files] == ["", ""]


# -- Holds ------------------------------------------------------------------------------


def hold(stage: Stage, asked: Request, by: Somebody, reason: str) -> Any:
    return reader(stage, by).post(f"runs/{asked.run_id}/hold", {"reason": reason})


def lift(
    stage: Stage, asked: Request, by: Somebody, id: Any, reason: str = "Settled."
) -> Any:
    said = {"hold": str(id), "reason": reason}
    return reader(stage, by).post(f"runs/{asked.run_id}/hold/lift", said)


def test_an_admin_places_a_hold_and_lifts_it(stage: Stage, asked: Request) -> None:
    erin = admin(stage)
    assert "Place a hold" in session(stage, asked, erin).content.decode()
    placed = hold(stage, asked, erin, "Dispute 2026-17")
    assert placed.status_code == 303
    (held,) = holds(stage)
    assert (held.session_id, held.reason) == (asked.session_id, "Dispute 2026-17")
    html = session(stage, asked, erin).content.decode()
    assert "This session is held" in html
    assert "Dispute 2026-17" in html
    run = reader(stage).get(f"runs/{asked.run_id}").content.decode()
    assert "Legal hold" in run
    unsaid = lift(stage, asked, erin, held.id, " ")
    assert (unsaid.status_code, len(holds(stage))) == (422, 1)
    assert 'aria-describedby="lift-error"' in unsaid.content.decode()
    assert lift(stage, asked, erin, held.id).status_code == 303
    assert holds(stage) == []
    with tenant_transaction(stage.tenant_id):
        placed, lifted = Entry.objects.filter(subject_id=held.id).order_by("seq")
    assert {placed.actor_id, lifted.actor_id} == {str(erin.id)}
    kinds = (placed.kind, lifted.kind, lifted.data)
    assert kinds == ("hold.placed", "hold.lifted", {"reason": "Settled."})


def test_a_reviewer_is_told_and_offered_and_allowed_nothing(
    stage: Stage, asked: Request
) -> None:
    assert hold(stage, asked, stage.bob, "Mine.").status_code == 403
    assert holds(stage) == []
    where = {"tenant_id": stage.tenant_id, "by": BY}
    held = place_hold(**where, reason="Dispute 7", session_id=asked.session_id)
    html = session(stage, asked).content.decode()
    assert "This session is held" in html
    assert "Dispute 7" not in html
    assert "Place a hold" not in html
    assert "Lift this hold" not in html
    refused = lift(stage, asked, stage.bob, held.id)
    assert (refused.status_code, len(holds(stage))) == (403, 1)


def test_an_auditor_reads_why_and_changes_nothing(stage: Stage, asked: Request) -> None:
    auditor = fresh_member(stage.house.alice, "Dora", role=Role.AUDITOR)
    where = {"tenant_id": stage.tenant_id, "by": BY}
    held = place_hold(**where, reason="Dispute 7", session_id=asked.session_id)
    html = session(stage, asked, auditor).content.decode()
    assert "Dispute 7" in html
    assert "Lift this hold" not in html
    assert hold(stage, asked, auditor, "Mine.").status_code == 403
    assert lift(stage, asked, auditor, held.id).status_code == 403


@pytest.mark.parametrize("reason", ["", "   ", "x" * 4_001])
def test_without_a_reason_nothing_is_held_and_the_field_says_why(
    stage: Stage, asked: Request, reason: str
) -> None:
    answer = hold(stage, asked, admin(stage), reason)
    html = answer.content.decode()
    assert answer.status_code == 422
    assert 'id="id_reason_error"' in html
    assert 'aria-invalid="true"' in html
    assert reason.strip() in html
    assert holds(stage) == []


def test_a_hold_on_all_of_the_tenant_is_shown_and_lifted_elsewhere(
    stage: Stage, asked: Request
) -> None:
    place_hold(tenant_id=stage.tenant_id, by=BY, reason="Audit of the year")
    html = session(stage, asked, admin(stage)).content.decode()
    assert "All of the tenant is held" in html
    assert "Lift this hold" not in html


def test_a_hold_that_is_over_is_not_there(stage: Stage, asked: Request) -> None:
    erin = admin(stage)
    for id in (asked.id, "no id"):
        assert lift(stage, asked, erin, id).status_code == 404
