"""The case: the sealed action, why it was asked, whose key, what it rests on."""

import json
import re

import pytest

from approvals.models import Decision, Request
from approvals.services.queues import give_right, take_right
from kernel.canonical import APPROVAL_DOMAIN
from sessions.contract import Claim
from sessions.models import Run
from sessions.services.runs import record_transition
from tenants.models import Role
from tests.approvals.stage import Stage
from tests.approvals.standing_stage import PERMITS
from tests.approvals.superuser import overdue, superuser
from tests.approvals.test_resume import work_all
from tests.approvals.views.browsing import reader
from tests.factories import fresh_member

V = Decision.Verdict


def state_facts(stage: Stage, run: Run, **facts: Claim) -> None:
    record_transition(
        who=stage.house.robot.principal,
        run_id=run.id,
        fence=run.fence,
        expected_version=0,
        facts=facts,
        reason="Looked.",
    )


def test_the_frame_holds_the_sealed_action_alone(stage: Stage) -> None:
    case = reader(stage).case(stage.ask(target={"bank": "DE1"}).id)
    shown = {node.name: node.text for node in case.exact.arguments.children}
    assert shown == {"payee": "Halden Paper Supply", "amount": "1240.00"}
    assert case.exact.target == '{"bank":"DE1"}'
    sealed = json.loads(case.exact.envelope)
    assert sealed["arguments"] == {"payee": "Halden Paper Supply", "amount": "1240.00"}


def test_the_digest_can_be_recomputed_from_what_is_on_the_page(stage: Stage) -> None:
    import hashlib

    exact = reader(stage).case(stage.ask().id).exact
    text = f"{APPROVAL_DOMAIN}\0{exact.envelope}".encode()
    assert hashlib.sha256(text).hexdigest() == exact.digest


def test_what_was_altered_in_the_database_cannot_be_decided(stage: Stage) -> None:
    request = stage.ask()
    with superuser() as connection:
        connection.execute(
            "UPDATE approvals_revision SET envelope = convert_to(replace("
            "convert_from(envelope, 'UTF8'), '1240.00', '9.00'), 'UTF8')"
            " WHERE request_id = %s",
            [request.id],
        )
    case = reader(stage).case(request.id)
    assert case.desk is None
    assert case.notice is not None
    assert case.notice.code == "authority.digest_mismatch"
    assert reader(stage).queue("?view=mine").rows == ()


@pytest.mark.parametrize("bytes_", [b"", b"\xff\xfe", b"[]", b'{"a":', b"{}"])
def test_bytes_that_are_no_record_are_shown_and_not_a_crash(
    stage: Stage, bytes_: bytes
) -> None:
    request = stage.ask()
    with superuser() as connection:
        connection.execute(
            "UPDATE approvals_revision SET envelope = %s WHERE request_id = %s",
            [bytes_, request.id],
        )
    case = reader(stage).case(request.id)
    assert case.desk is None
    assert len(reader(stage).queue().rows) == 1
    assert reader(stage).get(f"requests/{request.id}/edit").status_code == 409


def test_the_policy_speaks_for_itself(stage: Stage) -> None:
    stage.policy("payments", summary="two people for money.", rules=[{"approvals": 2}])
    policy = reader(stage).case(stage.ask().id).policies[0]
    assert (policy.name, policy.revision) == ("payments", 1)
    assert policy.sentence == "two people for money."


def test_the_pinned_policy_is_shown_though_it_was_changed_since(stage: Stage) -> None:
    stage.policy("payments", summary="as it was.")
    request = stage.ask()
    stage.policy("payments", summary="as it is now.")
    policy = reader(stage).case(request.id).policies[0]
    assert (policy.revision, policy.sentence) == (1, "as it was.")


def test_needs_say_whose_key_turned_and_whose_is_waited_for(stage: Stage) -> None:
    carol = stage.reviewer()
    stage.policy(rules=[{"approvals": 2}])
    request = stage.ask()
    stage.answer(request, by=carol, reason="Checked it.")
    case = reader(stage).case(request.id)
    turned, waiting = case.needs
    assert (turned.turned_by, turned.said) == ("Carol", "Checked it.")
    assert waiting.yours
    assert "Alice answers for the agent and cannot turn a key." in waiting.note
    assert (case.keys.turned, case.keys.needed) == (1, 2)


def test_a_key_whose_holder_lost_the_right_is_shown_so(stage: Stage) -> None:
    request, alice = stage.ask(), stage.house.alice
    stage.answer(request)
    turned = reader(stage, alice).case(request.id).needs
    assert [(one.turned_by, one.lost) for one in turned] == [("Bob", False)]
    take_right(
        tenant_id=stage.tenant_id,
        by=alice.id,
        queue_id=stage.queue.id,
        right="decide",
        group_id=stage.house.reviewers.id,
    )
    lost = reader(stage, alice).case(request.id).needs
    assert [(one.turned_by, one.lost) for one in lost] == [("Bob", True)]


def test_nobody_is_waited_for_once_it_is_rejected(stage: Stage) -> None:
    request = stage.ask()
    stage.answer(request, verdict=V.REJECT, reason="No.")
    assert reader(stage).case(request.id).needs == ()


def test_facts_stand_with_their_provenance(stage: Stage) -> None:
    run = stage.run()
    state_facts(
        stage,
        run,
        matched=Claim(
            value=True, provenance="tool", reference="compare", evidence_digest="ab"
        ),
        guess=Claim(value="probably", provenance="model"),
    )
    guess, matched = reader(stage).case(stage.ask(run).id).facts
    assert (matched.value, matched.provenance, matched.reference) == (
        "true",
        "tool",
        "compare",
    )
    assert guess.untrusted


@pytest.mark.parametrize(
    ("wanted", "holds"),
    [
        ({"field": "n", "equals": 1}, True),
        ({"field": "n", "equals": True}, False),
        ({"field": "n", "max_age": 3600}, True),
        ({"field": "other", "equals": 1}, False),
    ],
)
def test_preconditions_say_what_is_true_now(
    stage: Stage, wanted: dict[str, object], holds: bool
) -> None:
    run = stage.run()
    state_facts(
        stage,
        run,
        n=Claim(value=1, provenance="tool", reference="n", evidence_digest="ab"),
    )
    row = reader(stage).case(stage.ask(run, preconditions=(wanted,)).id).preconditions
    assert [one.holds for one in row] == [holds]


def test_a_revision_is_compared_with_the_one_before(stage: Stage) -> None:
    request = stage.ask()
    arguments = {"payee": "Halden Paper Supply", "amount": "1000.00"}
    stage.answer(request, verdict=V.EDIT, arguments=arguments, reason="Less.")
    changes = reader(stage).case(request.id).changes[0]
    assert [(row.pointer, row.before, row.after) for row in changes.rows] == [
        ("/arguments/amount", '"1240.00"', '"1000.00"')
    ]
    assert (changes.by, changes.reason) == ("Bob", "Less.")


def test_the_story_of_an_answered_request_is_told(stage: Stage) -> None:
    request = stage.ask()
    stage.answer(request, verdict=V.REJECT, reason="Not now.")
    work_all(stage, request)
    case = reader(stage).case(request.id)
    texts = [entry.text for entry in case.timeline]
    assert "Bob rejected" in texts
    assert "Revision 1 asked by robot" in texts
    assert texts[-1] != "Bob rejected"  # newest first
    assert [row.reason for row in case.decisions] == ["Not now."]
    assert case.notice is not None
    assert case.notice.title == "Rejected by Bob"
    assert case.notice.sentence.startswith("Nothing was permitted.")


ENDINGS = {
    "rejected": ("reject", "Rejected by Bob"),
    "changes_requested": ("request_changes", "Bob asked for changes"),
    "answered": ("respond", "Answered by Bob"),
}


@pytest.mark.parametrize("state", ENDINGS)
def test_each_ending_says_that_nothing_was_sent(stage: Stage, state: str) -> None:
    verdict, title = ENDINGS[state]
    request = stage.ask()
    stage.answer(request, verdict=V(verdict), reason="So.", response="42")
    case = reader(stage).case(request.id)
    assert (case.status, case.desk) == (state, None)
    assert case.notice is not None
    assert case.notice.title == title


def test_an_expired_request_offers_no_answer(stage: Stage) -> None:
    request = stage.ask()
    overdue(request.id)
    case = reader(stage).case(request.id)
    assert case.desk is None
    assert case.notice is not None
    assert case.notice.title == "The time to decide is over"


def test_who_owns_the_agent_is_told_why_they_cannot_approve(stage: Stage) -> None:
    desk = reader(stage, stage.house.alice).case(stage.ask().id).desk
    assert desk is not None
    assert desk.blocked["approve"].startswith("You answer for the agent: ")
    assert set(desk.blocked) == {"approve", "edit", "respond"}  # she may refuse


def test_each_right_of_the_viewer_shows(stage: Stage) -> None:
    def lose(right: str) -> None:
        take_right(
            tenant_id=stage.tenant_id,
            by=stage.house.alice.id,
            queue_id=stage.queue.id,
            right=right,
            group_id=stage.house.reviewers.id,
        )

    request = stage.ask()
    lose("edit_arguments")
    assert set(reader(stage).case(request.id).desk.blocked) == {"edit"}
    lose("decide")
    desk = reader(stage).case(request.id).desk
    assert len(desk.blocked) == 5
    assert desk.closed == "You see this queue but do not decide on it."


def test_who_can_give_no_answer_sees_no_button_for_one(stage: Stage) -> None:
    request = stage.ask()
    bar = 'data-key="{}"'
    offered = reader(stage).get(f"queue/{request.id}").content.decode()
    assert all(bar.format(key) in offered for key in "rsca")
    auditor = fresh_member(stage.house.alice, "Dora", role=Role.AUDITOR)
    shown = reader(stage, auditor).get(f"queue/{request.id}").content.decode()
    assert not any(bar.format(key) in shown for key in "rscea")
    assert shown.count("You see this queue but do not decide on it.") == 1


def test_after_approval_the_way_to_the_outcome_is_shown(stage: Stage) -> None:
    request = stage.ask()
    stage.answer(request)
    bob = reader(stage)
    assert bob.case(request.id).progress.state == "queued"
    work_all(stage, request)
    ready = bob.case(request.id).progress
    assert (ready.state, [pin.state for pin in ready.pins]) == ("acting", ["set"] * 4)
    assert ready.revoke_href


def test_a_refusal_names_code_class_and_what_comes_next(stage: Stage) -> None:
    request = stage.ask()
    stage.answer(request)
    stage.policy("tight", rules=[{"approvals": 2}])
    work_all(stage, request)
    case = reader(stage).case(request.id)
    progress = case.progress
    assert progress is not None
    assert (progress.state, progress.code, progress.refusal_class) == (
        "refused",
        "authority.policy_changed",
        "reopen",
    )
    assert "Nothing was sent" in progress.sentence
    assert [pin.state for pin in progress.pins] == ["set", "set", "set", "blocked"]
    assert case.desk is not None  # it is asked again
    assert "revision 2" in progress.coming[0].text


def test_a_reopened_request_forgets_the_refusal_once_reworded(stage: Stage) -> None:
    request = stage.ask()
    stage.answer(request)
    stage.policy("tight", rules=[{"approvals": 2}])
    work_all(stage, request)
    arguments = {"payee": "Halden Paper Supply", "amount": "1.00"}
    stage.answer(request, verdict=V.EDIT, arguments=arguments, reason="Less.")
    assert reader(stage).case(request.id).progress is None


@pytest.mark.parametrize("state", ["pending", "approved"])
def test_every_way_from_a_case_leads_back_to_its_list(stage: Stage, state: str) -> None:
    give_right(
        tenant_id=stage.tenant_id,
        by=stage.house.alice.id,
        queue_id=stage.queue.id,
        right="break_glass",
        member_id=stage.bob.id,
    )
    stage.policy(break_glass=True, standing=PERMITS, wait=3_600)
    request = stage.ask()
    if state == "approved":
        stage.answer(request)
    html = reader(stage).get(f"queue/{request.id}?risk=high").content.decode()
    ways = set(re.findall(rf'"([^"]*/requests/{request.id}/[^"]*)"', html))
    assert len(ways) >= {"pending": 6, "approved": 3}[state]
    assert {way for way in ways if not way.endswith("?risk=high")} == set()


def test_neighbours_are_those_of_the_list(stage: Stage) -> None:
    ids = [stage.ask(decide_within=seconds).id for seconds in (100, 200, 300)]
    case = reader(stage).case(ids[1])
    assert case.place == "2 of 3"
    assert case.previous_href.endswith(str(ids[0]))
    assert case.next_href.endswith(str(ids[2]))


def test_from_a_decided_case_one_goes_on_to_the_next_that_waits(stage: Stage) -> None:
    others = [stage.ask(decide_within=seconds).id for seconds in (100, 200)]
    request = stage.ask(decide_within=50)
    assert reader(stage).case(request.id).onward_href == ""
    stage.answer(request, verdict=V.REJECT, reason="No.")
    page = reader(stage).get(f"queue/{request.id}")
    assert page.context["case"].onward_href.endswith(str(others[0]))
    assert "Next request" in page.content.decode()


def test_no_next_request_is_offered_where_none_waits(stage: Stage) -> None:
    request = stage.ask()
    stage.answer(request, verdict=V.REJECT, reason="No.")
    assert reader(stage).case(request.id).onward_href == ""


def test_the_explanation_comes_as_it_was_written(stage: Stage) -> None:
    said = "✔ VERIFIED\n\nThe agent’s own words."
    request: Request = stage.ask(explanation=said)
    assert reader(stage).case(request.id).explanation == said


def test_where_words_are_asked_for_the_bar_asks_for_words(stage: Stage) -> None:
    asks, bob = stage.ask(allowed=["respond", "reject"]), reader(stage)
    desk = bob.case(asks.id).desk
    assert desk
    assert desk.answers_only
    html = bob.get(f"queue/{asks.id}").content.decode()
    assert "It asks for an answer." in html
    assert "You cannot turn a key here." not in html
    assert "request_changes:" not in html
    ordinary = bob.case(stage.ask().id).desk
    assert ordinary
    assert not ordinary.answers_only


def test_a_question_says_nothing_of_what_would_run(stage: Stage) -> None:
    asks, bob = stage.ask(allowed=["respond", "reject"]), reader(stage)
    html = bob.get(f"queue/{asks.id}").content.decode()
    assert "Nothing is executed." in html
    ran = ("is what runs", "Blast radius", "The agent calls it", "Whole action shown")
    for words in ran:
        assert words not in html
        assert words in bob.get(f"queue/{stage.ask().id}").content.decode()
