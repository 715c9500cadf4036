"""Deciding in the browser: one answer, told at once; what was typed is never lost."""

import re
from typing import Any

import pytest
from django.test import Client

from approvals.models import Decision, Grant, Request, ResumeJob
from approvals.presentation.desk import SheetState
from approvals.services.queues import take_right
from approvals.services.redeem import redeem
from approvals.services.report import report_effect
from kernel.scope import tenant_transaction
from tests.approvals.stage import Stage, fresh_stage
from tests.approvals.superuser import superuser
from tests.approvals.test_resume import work_all
from tests.approvals.views.browsing import Reader, reader

V = Decision.Verdict
SCHEMA = {
    "type": "object",
    "required": ["centre"],
    "properties": {
        "centre": {"type": "string", "enum": ["4100", "4200"]},
        "days": {"type": "integer", "minimum": 1},
    },
}


def returned(response: Any) -> SheetState:
    form = response.context["case"].desk.form
    assert isinstance(form, SheetState)
    return form


def counts(stage: Stage, request: Request) -> tuple[int, int, int]:
    """Decisions, grants and jobs of the request."""
    with tenant_transaction(stage.tenant_id):
        return (
            Decision.objects.filter(request=request).count(),
            Grant.objects.filter(request=request).count(),
            ResumeJob.objects.filter(request=request).count(),
        )


def test_approving_leads_back_to_the_case_which_shows_it(stage: Stage) -> None:
    request, bob = stage.ask(), reader(stage)
    response = bob.decide(request.id, "approve", reason="Fine.")
    assert response.status_code == 303
    case = bob.client.get(response.headers["Location"]).context["case"]
    assert (case.status, case.progress.state) == ("approved", "queued")
    assert counts(stage, request) == (1, 1, 1)


@pytest.mark.parametrize(
    ("verdict", "said", "state"),
    [
        ("reject", {"reason": "No."}, "rejected"),
        ("request_changes", {"reason": "More."}, "changes_requested"),
        ("respond", {"response": "Use 4100."}, "answered"),
    ],
)
def test_the_other_answers(
    stage: Stage, verdict: str, said: dict[str, str], state: str
) -> None:
    request, bob = stage.ask(), reader(stage)
    assert bob.decide(request.id, verdict, **said).status_code == 303
    assert stage.fresh(request).state == state
    assert bob.case(request.id).notice.said in said.values()  # for whoever reads it


def test_a_reason_is_as_visible_as_any_text(stage: Stage) -> None:
    request, bob = stage.ask(), reader(stage)
    bob.decide(request.id, "reject", reason="<b>No\u202e")
    html = bob.get(f"queue/{request.id}").content.decode()
    head = html[html.index('id="outcome"') : html.index("case__head")]
    assert "&lt;b&gt;No" in head
    assert "U+202E" in head
    assert "\u202e" not in html


def test_the_selection_of_the_list_is_kept(stage: Stage) -> None:
    request, bob = stage.ask(), reader(stage)
    case = bob.get(f"queue/{request.id}?view=mine&risk=high").context["case"]
    form = {"verdict": "approve", "digest": case.exact.digest}
    response = bob.post(case.desk.href.removeprefix(f"{bob.home}/"), form)
    assert response.headers["Location"].endswith(f"{request.id}?view=mine&risk=high")


def test_a_reason_that_is_missing_is_said_beside_its_field(stage: Stage) -> None:
    request = stage.ask()
    response = reader(stage).decide(request.id, "reject", reason="  ")
    assert response.status_code == 422
    assert "reason" in returned(response).errors
    assert counts(stage, request) == (0, 0, 0)


@pytest.mark.parametrize(
    ("verdict", "said", "letter", "place"),
    [
        ("reject", {"reason": "  "}, "r", "sheet-reject-reason"),
        ("request_changes", {"reason": "  "}, "c", "sheet-changes-reason"),
        ("respond", {"response": "  "}, "s", "sheet-respond-response"),
        ("approve", {"reason": "x" * 4_001}, "a", "sheet-approve-reason"),
        ("respond", {"/centre": "", "/days": "3"}, "s", "sheet-respond-/centre"),
    ],
)
def test_a_form_that_came_back_is_the_only_one_of_its_answer(
    stage: Stage, verdict: str, said: dict[str, str], letter: str, place: str
) -> None:
    """Its letter and its button lead to the field that is wrong, where typing begins."""
    request = stage.ask(**({"response_schema": SCHEMA} if "/centre" in said else {}))
    response = reader(stage).decide(request.id, verdict, **said)
    html = response.content.decode()
    assert response.status_code == 422
    assert html.count(f'type="hidden" name="verdict" value="{verdict}"') == 1
    sheet = html[html.index('class="sheet sheet--returned"') :].partition(">")[0]
    assert f'id="{place.rpartition("-")[0]}"' in sheet
    assert "popover" not in sheet  # it is open already
    assert f'href="#{place}" data-key="{letter}"' in html
    (field,) = re.findall(r"<[^<>]* autofocus[^<>]*>", html)
    assert f'id="{place}"' in field
    assert returned(response).values.items() >= said.items()


def test_an_answer_by_schema_keeps_its_types(stage: Stage) -> None:
    request = stage.ask(response_schema=SCHEMA)
    said = {"/centre": '"4200"', "/days": "3"}
    assert reader(stage).decide(request.id, "respond", **said).status_code == 303
    assert stage.fresh(request).response == {"centre": "4200", "days": 3}


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({"/centre": "", "/days": "3"}, "/centre"),
        ({"/centre": '"4200"', "/days": "three"}, "/days"),
        ({"/centre": '"4200"', "/days": "0"}, "/days"),
        ({"/centre": '"9"', "/days": "3"}, "/centre"),
    ],
)
def test_an_answer_that_does_not_fit_comes_back_filled_in(
    stage: Stage, said: dict[str, str], field: str
) -> None:
    request = stage.ask(response_schema=SCHEMA)
    response = reader(stage).decide(request.id, "respond", **said)
    assert response.status_code == 422
    controls = {one.name: one for one in response.context["case"].desk.reply}
    assert controls[field].error
    assert {name: controls[name].text for name in said} == said
    assert counts(stage, request) == (0, 0, 0)


def test_a_stale_tab_sees_what_is_asked_now_and_keeps_what_was_typed(
    stage: Stage,
) -> None:
    request, bob = stage.ask(), reader(stage)
    seen = bob.case(request.id).exact.digest
    changed = {"payee": "Halden Paper Supply", "amount": "9.00"}
    stage.answer(
        request, by=stage.reviewer(), verdict=V.EDIT, arguments=changed, reason="x"
    )
    response = bob.decide(request.id, "approve", digest=seen, reason="My own words")
    case = response.context["case"]
    assert response.status_code == 409
    assert case.notice.title == "This changed while you were reading"
    assert case.exact.digest != seen
    assert returned(response).kept
    assert "My own words" in response.content.decode()
    assert stage.fresh(request).state == "pending"


def test_what_was_decided_meanwhile_says_by_whom(stage: Stage) -> None:
    request, bob = stage.ask(), reader(stage)
    seen = bob.case(request.id).exact.digest
    stage.answer(request, by=stage.reviewer(), verdict=V.REJECT, reason="Not now.")
    response = bob.decide(request.id, "approve", digest=seen, reason="My words")
    notice = response.context["case"].notice
    assert response.status_code == 409
    assert notice.title.startswith("Already decided: Carol rejected")
    assert "not recorded" in notice.sentence
    assert "My words" in notice.sentence
    assert counts(stage, request)[0] == 1


def test_the_second_post_of_one_form_changes_nothing(stage: Stage) -> None:
    stage.policy(rules=[{"approvals": 2}])
    request, bob = stage.ask(), reader(stage)
    assert bob.decide(request.id, "approve").status_code == 303
    again = bob.decide(request.id, "approve")
    assert again.status_code == 409
    assert counts(stage, request) == (1, 0, 0)


def test_an_expired_request_is_closed_by_the_clock(stage: Stage) -> None:
    request, bob = stage.ask(), reader(stage)
    seen = bob.case(request.id).exact.digest
    with superuser() as connection:
        connection.execute(
            "UPDATE approvals_request SET due_at = now() WHERE id = %s", [request.id]
        )
    response = bob.decide(request.id, "approve", digest=seen)
    assert response.status_code == 409
    assert response.context["case"].notice.title == "Already expired"
    assert stage.fresh(request).state == "expired"


def test_the_owner_of_the_agent_is_refused(stage: Stage) -> None:
    request, alice = stage.ask(), reader(stage, stage.house.alice)
    response = alice.decide(request.id, "approve")
    assert response.status_code == 403
    assert response.context["case"].notice.code == "own_request"
    assert counts(stage, request) == (0, 0, 0)


def test_a_right_that_was_lost_meanwhile_counts(stage: Stage) -> None:
    request, bob = stage.ask(), reader(stage)
    seen = bob.case(request.id).exact.digest
    take_right(
        tenant_id=stage.tenant_id,
        by=stage.house.alice.id,
        queue_id=stage.queue.id,
        right="decide",
        group_id=stage.house.reviewers.id,
    )
    response = bob.decide(request.id, "approve", digest=seen)
    assert response.status_code == 403
    assert response.context["case"].notice.code == "not_permitted"


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"verdict": "approve"},
        {"verdict": "approve", "digest": "ab"},
        {"verdict": "destroy", "digest": "0" * 64},
        {"verdict": "approve", "digest": "0" * 64, "reason": "x" * 5_000},
        {"verdict": "approve", "digest": "0" * 64, "reason": "\0"},
        {"verdict": "edit", "digest": "0" * 64, "arguments": "{"},
        {"verdict": "edit", "digest": "0" * 64, "arguments": '{"a":1,"a":2}'},
        {"verdict": "edit", "digest": "0" * 64, "arguments": "[]"},
    ],
)
def test_a_form_that_is_none_of_ours_is_refused_whole(
    stage: Stage, form: dict[str, str]
) -> None:
    request = stage.ask()
    response = reader(stage).post(f"requests/{request.id}/decide", form)
    assert response.status_code in {409, 422}
    assert counts(stage, request) == (0, 0, 0)


def test_without_the_token_nothing_is_decided(stage: Stage) -> None:
    request, bob = stage.ask(), reader(stage)
    form = {"verdict": "approve", "digest": bob.case(request.id).exact.digest}
    path = f"{bob.home}/requests/{request.id}/decide"
    assert bob.client.post(path, form).status_code == 403
    assert counts(stage, request) == (0, 0, 0)


@pytest.mark.parametrize("name", ["decide", "revoke"])
def test_a_get_never_decides(stage: Stage, name: str) -> None:
    request, bob = stage.ask(), reader(stage)
    digest = bob.case(request.id).exact.digest
    query = f"?verdict=approve&digest={digest}&reason=x"
    for method in (bob.client.get, bob.client.head):
        response = method(f"{bob.home}/requests/{request.id}/{name}{query}")
        assert response.headers["Location"].endswith(f"/queue/{request.id}")
    assert counts(stage, request) == (0, 0, 0)


def test_an_agents_key_opens_no_page(stage: Stage) -> None:
    request, bob = stage.ask(), reader(stage)
    agent = stage.house.robot.client()
    response = agent.get(f"{bob.home}/queue/{request.id}")
    assert response.status_code == 302
    assert "login" in response.headers["Location"]


def password_of(stage: Stage) -> str:
    user = stage.bob.user
    user.set_password("right horse battery")
    user.save()
    return "right horse battery"


def test_the_policy_may_ask_who_it_is(stage: Stage) -> None:
    stage.policy(reauthentication=60)
    password, request = password_of(stage), stage.ask()
    bob = reader(stage)
    assert bob.case(request.id).desk.reauthentication
    refused = bob.decide(request.id, "approve")
    assert (refused.status_code, list(returned(refused).errors)) == (403, ["password"])
    wrong = bob.decide(request.id, "approve", password="wrong")
    assert (wrong.status_code, list(returned(wrong).errors)) == (422, ["password"])
    assert "wrong" not in returned(wrong).values.values()
    assert bob.decide(request.id, "approve", password=password).status_code == 303
    assert stage.fresh(request).state == "approved"


def revoked(bob: Reader, request: Request, reason: str = "Stop.") -> Any:
    return bob.post(f"requests/{request.id}/revoke", {"reason": reason})


def test_an_approval_can_be_taken_back(stage: Stage) -> None:
    request, bob = stage.ask(), reader(stage)
    stage.answer(request)
    assert revoked(bob, request).status_code == 303
    case = bob.case(request.id)
    assert case.status == "revoked"
    assert case.notice.title == "The approval was revoked by Bob"
    assert case.notice.said == "Stop."


def test_revoking_needs_a_reason_and_an_approval(stage: Stage) -> None:
    request, bob = stage.ask(), reader(stage)
    assert revoked(bob, request).status_code == 409
    stage.answer(request)
    assert revoked(bob, request, " ").status_code == 422
    assert stage.fresh(request).state == "approved"


def test_nobody_signed_in_is_sent_to_sign_in(stage: Stage) -> None:
    request = stage.ask()
    for path in (f"{reader(stage).home}/queue/{request.id}", f"/r/{request.id}"):
        response = Client().get(path)
        assert response.status_code == 302
        assert response.headers["Location"].startswith("/accounts/login/?next=")


def test_the_short_link_leads_to_the_case_of_whoever_may_see_it(stage: Stage) -> None:
    request = stage.ask()
    response = stage.bob.browser().get(f"/r/{request.id}")
    assert response.headers["Location"].endswith(f"/queue/{request.id}")
    assert stage.house.charlie.browser().get(f"/r/{request.id}").status_code == 404


def stuck(stage: Stage) -> Request:
    """The agent acted, and says that it does not know what came of it."""
    run = stage.run()
    request = stage.ask(run)
    stage.answer(request)
    work_all(stage, request)
    who = stage.house.robot.principal
    started = redeem(who, request_id=request.id, fence=run.fence)
    unknown = {"attempt": 1, "fence": run.fence, "outcome": "unknown"}
    report_effect(who, effect_id=started.effect.id, **unknown)
    return request


def test_a_person_records_what_nothing_else_can_prove(stage: Stage) -> None:
    request, bob = stuck(stage), reader(stage)
    progress = bob.case(request.id).progress
    assert (progress.state, bool(progress.resolve_href)) == ("needs_attention", True)
    said = {"outcome": "confirmed", "evidence": "Seen in the bank.", "external_id": "B"}
    said["effect"] = progress.effect_id
    assert bob.post(f"requests/{request.id}/resolve", said).status_code == 303
    done = bob.case(request.id).progress
    assert (done.state, done.external_id) == ("confirmed", "B")
    again = bob.post(f"requests/{request.id}/resolve", said)
    assert again.status_code == 409
    assert again.context["case"].notice.code == "outcome_conflict"


def test_an_outcome_needs_evidence(stage: Stage) -> None:
    request, bob = stuck(stage), reader(stage)
    effect = {"effect": bob.case(request.id).progress.effect_id}
    for said in ({"outcome": "confirmed"}, {"evidence": "x"}, {"outcome": "maybe"}):
        response = bob.post(f"requests/{request.id}/resolve", effect | said)
        assert response.status_code == 422
    assert bob.case(request.id).progress.state == "needs_attention"


def test_an_outcome_is_of_the_action_that_was_read_about(stage: Stage) -> None:
    request, bob = stuck(stage), reader(stage)
    said = {"outcome": "confirmed", "evidence": "Seen it.", "external_id": "B-1"}
    for other in ({}, {"effect": str(request.id)}):
        response = bob.post(f"requests/{request.id}/resolve", said | other)
        assert response.status_code == 409
        assert response.context["case"].notice.code == "moved_on"
        html = response.content.decode()
        assert 'value="confirmed" required checked' in html
        assert ">Seen it.</textarea>" in html
        assert 'value="B-1"' in html
    assert bob.case(request.id).progress.state == "needs_attention"


def test_what_never_started_has_no_outcome_to_record(stage: Stage) -> None:
    request = stage.ask()
    said = {"outcome": "confirmed", "evidence": "I say so."}
    path = f"requests/{request.id}/resolve"
    assert reader(stage).post(path, said).status_code == 404


def test_a_ready_made_reason_and_what_is_typed_after_it(stage: Stage) -> None:
    first, second, third = stage.ask(), stage.ask(), stage.ask()
    bob = reader(stage)
    offered = bob.case(first.id).desk
    assert offered
    ready = offered.reasons[0]
    bob.decide(first.id, "reject", template=ready)
    bob.decide(second.id, "reject", template=ready, reason="See the order.")
    assert stage.fresh(first).resolution == ready
    assert stage.fresh(second).resolution == f"{ready} See the order."
    page = bob.decide(third.id, "reject", template=ready, reason="x" * 3_990)
    assert page.status_code == 422
    assert f'<option value="{ready}" selected>' in page.content.decode()
    assert stage.fresh(third).state == "pending"


def test_a_tool_names_its_own_reasons() -> None:
    reasons = ["The supplier is blocked.", "\u202eevil"]
    stage = fresh_stage(reasons=reasons)
    bob, request = reader(stage), stage.ask()
    shown = bob.case(request.id).desk
    assert shown
    assert shown.reasons == tuple(reasons)
    text = bob.get(f"queue/{request.id}").content.decode()
    assert "\u202e" not in text.partition("<option")[2].partition("</select>")[0]
