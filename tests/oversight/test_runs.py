"""Looking back: which runs somebody sees, and the story that one tells."""

import re
from typing import Any

import pytest

from approvals.asks import Ask
from approvals.models import Decision, Request
from approvals.pages.addresses import short_name
from approvals.services.queues import create_queue, give_right
from approvals.services.redeem import redeem
from approvals.services.report import report_effect
from approvals.services.request import request_approval
from checkpoints.models import Checkpoint
from checkpoints.services import fork_run, restore_checkpoint
from kernel.scope import tenant_transaction
from oversight.presentation.run import RunView
from sessions.contract import Claim
from sessions.models import Run
from sessions.services.runs import complete_run, record_transition
from tenants.models import Role
from tests.approvals.stage import ARGUMENTS, Stage, fresh_stage
from tests.approvals.test_resume import work_all
from tests.approvals.views.browsing import reader
from tests.checkpoints.tampering import tamper
from tests.factories import Somebody, fresh_member
from tests.refusals import refused

V = Decision.Verdict


@pytest.fixture
def stage() -> Stage:
    return fresh_stage()


def labels(stage: Stage, somebody: Somebody, query: str = "") -> list[str]:
    rows = reader(stage, somebody).get(f"runs{query}").context["runs"].rows
    return [row.href.rsplit("/", 1)[1] for row in rows]


def story(stage: Stage, request: Request, somebody: Somebody | None = None) -> RunView:
    response = reader(stage, somebody).get(f"runs/{request.run_id}")
    assert response.status_code == 200
    view: RunView = response.context["run"]
    return view


def elsewhere(stage: Stage) -> Request:
    """A request on a queue that no reviewer sees."""
    by = stage.house.alice.id
    create_queue(tenant_id=stage.tenant_id, by=by, slug="board", name="Board")
    stage.policy("board", queue="board", selector="arguments.amount == '9999.00'")
    return stage.ask(arguments={"payee": "x", "amount": "9999.00"})


def test_a_reviewer_sees_the_runs_that_asked_on_their_queues(stage: Stage) -> None:
    seen, hidden, silent = stage.ask(), elsewhere(stage), stage.run()
    assert labels(stage, stage.bob) == [str(seen.run_id)]
    newest_first = [silent.id, hidden.run_id, seen.run_id]
    for role in (Role.AUDITOR, Role.ADMIN):
        overseer = fresh_member(stage.house.alice, f"Dora{role}", role=role)
        assert labels(stage, overseer) == list(map(str, newest_first))


def test_a_developer_without_a_queue_sees_none(stage: Stage) -> None:
    request = stage.ask()
    developer = fresh_member(stage.house.alice, "Dev", role=Role.DEVELOPER)
    assert labels(stage, developer) == []
    response = reader(stage, developer).get(f"runs/{request.run_id}")
    assert response.status_code == 404


def test_of_a_run_only_the_requests_of_ones_queues_are_told(stage: Stage) -> None:
    by = stage.house.alice.id
    create_queue(tenant_id=stage.tenant_id, by=by, slug="board", name="Board")
    stage.policy("board", queue="board", selector="arguments.amount == '9999.00'")
    secret = {"arguments": {"payee": "Secret Ltd", "amount": "9999.00"}}
    seen, hidden = stage.ask_all([{}, secret])
    view = story(stage, seen)
    assert [link.href.rsplit("/", 1)[1] for link in view.requests] == [str(seen.id)]
    assert "Secret Ltd" not in repr(view)
    auditor = fresh_member(stage.house.alice, "Dora", role=Role.AUDITOR)
    assert "Secret Ltd" in repr(story(stage, hidden, auditor))


def test_of_a_run_only_the_effects_of_ones_queues_are_told(stage: Stage) -> None:
    by, who = stage.house.alice.id, stage.house.robot.principal
    board = {"tenant_id": stage.tenant_id, "by": by}
    queue = create_queue(**board, slug="board", name="Board")
    carol = fresh_member(stage.house.alice, "Carol")
    for right in ("view", "decide"):
        give_right(**board, queue_id=queue.id, right=right, member_id=carol.id)
    stage.policy("board", queue="board", selector="arguments.amount == '9999.00'")
    run = stage.run()
    secret = {"arguments": {"payee": "Secret Ltd", "amount": "9999.00"}}
    seen, hidden = stage.ask_all([{}, secret], run, until="each")
    stage.answer(hidden, by=carol)
    work_all(stage, hidden)
    effect = redeem(who, request_id=hidden.id, fence=run.fence).effect
    told = {"attempt": 1, "fence": run.fence, "outcome": "confirmed"}
    report_effect(who, effect_id=effect.id, external_id="BOARD-77", **told)
    assert "BOARD-77" not in repr(story(stage, seen))
    assert "BOARD-77" in repr(story(stage, hidden, carol))


def test_runs_are_filtered_by_state_and_paged(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("oversight.pages.runs.PAGE", 2)
    paused = [stage.ask().run_id for _ in range(3)]
    done = stage.run()
    complete_run(who=stage.house.robot.principal, run_id=done.id, fence=done.fence)
    alice = reader(stage, stage.house.alice)
    first: Any = alice.get("runs?state=paused").context["runs"]
    rest: Any = alice.client.get(first.pages.next_href).context["runs"]
    ids = [row.href.rsplit("/", 1)[1] for row in (*first.rows, *rest.rows)]
    assert ids == [str(id) for id in reversed(paused)]
    assert labels(stage, stage.house.alice, "?state=completed") == [str(done.id)]
    assert labels(stage, stage.house.alice, "?state=nonsense&after=x")


@pytest.mark.parametrize("state", ["", "paused"])
def test_the_filter_in_force_is_the_one_that_is_marked(
    stage: Stage, state: str
) -> None:
    stage.ask()
    page = reader(stage).get(f"runs?state={state}").content.decode()
    marked = re.findall(
        r'<span class="btn btn--small" aria-current="true">(\w+)<', page
    )
    assert marked == [state.capitalize() or "All"]
    assert "<p>1 run</p>" in page


def test_whom_nobody_named_is_not_given_a_name(stage: Stage) -> None:
    ask = Ask(tool=stage.tool.name, arguments=ARGUMENTS)
    request, _ = request_approval(stage.house.robot.principal, ask=ask)
    bob = reader(stage)
    assert bob.case(request.id).subject == ""
    assert bob.get("runs").context["runs"].rows[0].subject == ""
    assert bob.get(f"runs/{request.run_id}").context["run"].subject == ""


def test_the_story_is_whole_and_in_order(stage: Stage) -> None:
    run = stage.run()
    record_transition(
        who=stage.house.robot.principal,
        run_id=run.id,
        fence=run.fence,
        expected_version=0,
        facts={
            "matched": Claim(
                value=True, provenance="tool", reference="compare", evidence_digest="ab"
            )
        },
        reason="Compared.",
    )
    request = stage.ask(stage.fresh(run))
    stage.answer(request, reason="Fine.")
    work_all(stage, request)
    view = story(stage, request)
    headings = [step.heading for step in view.story]
    assert headings == [
        "Run opened",
        "Facts stated: matched",
        "Checkpoint 1",
        "Asked",
        "Run paused",
        "Bob approved",
        "Verified: its agent may redeem",
    ]
    facts, report = view.story[1], view.story[-1].report
    assert (facts.said, facts.said_by_agent) == ("Compared.", True)
    assert [(one.before, one.after) for one in facts.facts] == [(None, "true")]
    assert report is not None
    assert [pin.state for pin in report.pins] == ["set"] * 4
    assert view.head is not None
    assert view.head.number == 1


def test_a_refusal_is_told_with_its_code(stage: Stage) -> None:
    request = stage.ask()
    stage.answer(request)
    stage.policy("tight", rules=[{"approvals": 2}])
    work_all(stage, request)
    steps = {step.heading: step for step in story(stage, request).story}
    refused = steps["Refused: nothing was sent"].report
    assert refused is not None
    assert (refused.code, refused.refusal_class) == (
        "authority.policy_changed",
        "reopen",
    )
    dismissed = steps["Bob approved"].decision
    assert dismissed is not None
    assert not dismissed.counted
    assert "Asked again, revision 2" in steps


def test_where_it_stands_is_said_in_a_sentence(stage: Stage) -> None:
    request = stage.ask()
    view = story(stage, request)
    said = "It is paused, and its agent waits for an answer. It asks:"
    assert (view.answer, view.asks) == (said, "Pay 1240.00 to Halden Paper Supply")


@pytest.mark.parametrize("target", ["runs", "run"])
def test_htmx_gets_the_part_that_it_asked_for(stage: Stage, target: str) -> None:
    request = stage.ask()
    path = "runs" if target == "runs" else f"runs/{request.run_id}"
    headers = {"HX-Request": "true", "HX-Target": target}
    text = reader(stage).get(path, headers=headers).content.decode()
    assert "<!doctype" not in text
    assert f'id="{target}"' in text


def test_a_restore_and_a_fork_are_told_from_both_ends(stage: Stage) -> None:
    request = stage.ask()
    who = stage.house.robot.principal
    restore_checkpoint(who=who, run_id=request.run_id)
    forked = fork_run(who=who, run_id=request.run_id, number=1, reason="Once more.")
    alice = stage.house.alice
    here = {one.heading: one for one in story(stage, request, alice).story}
    there = {one.heading: one for one in run_story(stage, forked.run, alice).story}

    assert here["Checkpoint 1 restored"].sentence == "Its digest fits."
    into = here[f"Forked into {short_name('RUN', forked.run.id)}, from checkpoint 1"]
    begun = there[f"Forked from {short_name('RUN', request.run_id)}, checkpoint 1"]
    assert (into.said, into.said_by_agent) == ("Once more.", True)
    assert into.links[0].href.endswith(f"runs/{forked.run.id}")
    assert begun.links[0].href.endswith(f"runs/{request.run_id}")
    assert "no approval" in begun.sentence


def test_a_fork_that_one_may_not_see_is_not_named(stage: Stage) -> None:
    request = stage.ask()
    who = stage.house.robot.principal
    forked = fork_run(who=who, run_id=request.run_id, number=1).run
    view = story(stage, request)
    assert str(forked.id) not in repr(view)
    headings = [step.heading for step in view.story]
    assert "Forked into another run, from checkpoint 1" in headings


def test_a_failed_restore_is_told_with_what_to_do(stage: Stage) -> None:
    request = stage.ask()
    change = "payload = 'forged'"
    with tenant_transaction(stage.tenant_id):
        row = Checkpoint.objects.get(run_id=request.run_id)
    tamper("checkpoints_checkpoint", change, row.id)
    with refused("checkpoint_corrupted"):
        restore_checkpoint(who=stage.house.robot.principal, run_id=request.run_id)
    steps = {step.heading: step for step in story(stage, request).story}
    failed = steps["Checkpoint 1 could not be restored"]
    assert "Compare the row with a backup" in failed.sentence
    assert failed.tone == "bad"


def run_story(stage: Stage, run: Run, somebody: Somebody) -> RunView:
    view: RunView = reader(stage, somebody).get(f"runs/{run.id}").context["run"]
    return view
