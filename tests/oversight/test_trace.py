"""The trace: which parts it holds, what each follows from, and how they are laid out."""

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st

from approvals.models import Decision, Request
from checkpoints.models import Effect
from kernel.ids import new_id
from kernel.scope import tenant_transaction
from oversight.presentation.trace import (
    LANES,
    LONGEST,
    WIDTH,
    Graph,
    Part,
    cut,
    draw_trace,
)
from sessions.contract import Claim
from sessions.models import Run
from sessions.services.items import append_items
from sessions.services.runs import record_transition
from tenants.services import deactivate_member
from tests.approvals.stage import ARGUMENTS, Stage, fresh_stage
from tests.approvals.superuser import superuser
from tests.approvals.test_resume import work_all
from tests.approvals.views.browsing import reader
from tests.approvals.views.test_deciding import stuck
from tests.oversight.test_runs import elsewhere

V = Decision.Verdict
SAID = "What nobody needs to read here."
SEEN = "What was stated."


@pytest.fixture
def stage() -> Stage:
    return fresh_stage()


def trace(stage: Stage, request: Request, query: str = "") -> Any:
    answer = reader(stage).get(f"runs/{request.run_id}/trace{query}")
    assert answer.status_code == 200
    return answer.context["trace"]


def kinds(view: Any) -> list[str]:
    return [part.key.partition(":")[0] for part in view.parts]


def part(view: Any, kind: str) -> Any:
    return next(one for one in view.parts if one.key.startswith(f"{kind}:"))


def test_an_action_is_told_from_the_session_to_its_outcome(stage: Stage) -> None:
    stage.policy("corrections", rules=[{"approvals": 1}])
    run = after_a_call(stage)
    request = stage.ask(run, tool_call_id="call-8")
    stage.answer(request)
    work_all(stage, request)
    view = trace(stage, request)
    told = kinds(view)
    order = ["session", "item", "facts", "checkpoint", "policy", "revision"]
    order += ["decision", "grant", "report"]
    assert [kind for kind in told if kind in order] == order
    asked = part(view, "revision")
    before = ("policy", "checkpoint", "facts", "item")
    assert {part(view, kind).key for kind in before} <= set(asked.after)
    decided, given = part(view, "decision"), part(view, "grant")
    assert (decided.label, decided.after) == (str(stage.bob.user), (asked.key,))
    assert given.after == (decided.key,)
    assert part(view, "report").after == (given.key,)
    assert reader(stage).case(request.id).exact.digest in asked.told
    called = part(view, "item")
    assert (called.label, called.note) == ("Item 2", "calls pay")
    assert "The model's call call-8" in called.told
    assert "ready by tool" in part(view, "facts").told
    assert SAID not in str(view.parts)
    assert "on its queue then; still held now." in decided.told
    deactivate_member(
        tenant_id=stage.tenant_id, by=stage.house.alice.id, member_id=stage.bob.id
    )
    path = f"runs/{request.run_id}/trace"
    later = reader(stage, stage.house.alice).get(path).context["trace"]
    assert "on its queue then; no longer held now." in part(later, "decision").told


def test_it_answers_why_in_a_sentence_or_two(stage: Stage) -> None:
    stage.policy("corrections", rules=[{"approvals": 1}])
    request, bob = stuck(stage), reader(stage)
    said = {"outcome": "confirmed", "evidence": "Seen.", "external_id": "CR-771"}
    effect = bob.case(request.id).progress.effect_id
    bob.post(f"requests/{request.id}/resolve", said | {"effect": effect})
    view = trace(stage, request)
    (why,) = view.whys
    assert why.title == request.title
    assert view.parts[0].told.startswith(f"{why.agent} began")
    assert why.policies == "corrections asked for 1 approval"
    assert [given for given, _ in why.answers] == [f"{stage.bob.user} approved"]
    assert f"{why.outcome} {why.known_as}" == "Outside it is known as CR-771"


def test_what_is_not_decided_is_told_so(stage: Stage) -> None:
    request = stage.ask()
    (why,) = trace(stage, request).whys
    assert (why.answers, why.outcome) == ((), "It waits for an answer.")
    stage.answer(request, verdict=V.REJECT, reason="No.")
    (why,) = trace(stage, request).whys
    assert why.answers[0][0] == f"{stage.bob.user} rejected"
    assert (why.outcome, why.known_as) == ("Nothing came of it.", "")


def test_facts_tell_their_values_to_those_who_may_see_them(stage: Stage) -> None:
    """Each by itself, so that no value passes for another fact."""
    request = stage.ask(after_a_call(stage))
    (fact,) = part(trace(stage, request), "facts").facts
    assert (fact.name, fact.after, fact.provenance) == ("ready", SEEN, "tool")


def after_a_call(stage: Stage) -> Run:
    """The model called the tool, went on talking, and a fact was stated."""
    who, run = stage.house.robot.principal, stage.run()
    called = {"type": "function_call", "call_id": "call-8", "name": "pay"}
    texts = [{"role": "user", "content": SAID}, called, {"role": "user", "content": ""}]
    append_items(
        who=who, session_id=run.session_id, items=[json.dumps(one) for one in texts]
    )
    record_transition(
        who=who,
        run_id=run.id,
        fence=run.fence,
        expected_version=0,
        facts={
            "ready": Claim(
                value=SEEN, provenance="tool", reference="row", evidence_digest="ab"
            )
        },
        reason="Looked.",
    )
    return run


def test_a_picture_that_is_cut_keeps_the_version(stage: Stage) -> None:
    view = trace(stage, stage.ask(after_a_call(stage)))
    drawn = [place.part.label for place in view.graph.places]
    assert part(view, "facts").label == "Facts, version 1"
    assert "Facts, vers… 1" in drawn
    downwards = [step.part.label for step in view.graph.steps]
    assert "Facts, version 1" in downwards  # where there is room


@pytest.mark.parametrize(
    ("whole", "drawn"),
    [
        ("Facts, version 1042", "Facts, v… 1042"),
        ("ORDER-2026-000771", "ORDER-…-000771"),
        ("CR-771", "CR-771"),
        ("Maren Lindqvist", "Maren Lindqvi…"),
        ("9" * 40, "99999…99999999"),
    ],
)
def test_a_number_at_the_end_is_never_cut(whole: str, drawn: str) -> None:
    assert cut(whole, LONGEST) == drawn


def test_a_refusal_says_what_it_lacked(stage: Stage) -> None:
    request = stage.ask()
    stage.answer(request, verdict=V.REJECT, reason="No.")
    assert part(trace(stage, request), "decision").tone == "bad"


def test_one_request_can_be_looked_at_alone(stage: Stage) -> None:
    other_amount = {"arguments": {**ARGUMENTS, "amount": "2.00"}}
    first, second = stage.ask_all([{}, other_amount])
    both = trace(stage, first)
    assert kinds(both).count("revision") == 2
    assert [shown for _, _, shown in both.choices] == [True, False, False]
    alone = trace(stage, first, f"?request={first.id}")
    assert [p.key for p in alone.parts if p.key.startswith("revision:")] == [
        f"revision:{first.id}:1"
    ]
    assert str(second.id) not in str(alone.parts)
    elsewhere = f"runs/{first.run_id}/trace?request={stage.ask().id}"
    assert reader(stage).get(elsewhere).status_code == 404
    assert trace(stage, stage.ask()).choices == ()


def test_a_request_on_an_unseen_queue_is_in_no_trace(stage: Stage) -> None:
    hidden = elsewhere(stage)
    path = f"runs/{hidden.run_id}/trace"
    assert reader(stage).get(path).status_code == 404
    seen = reader(stage, stage.house.alice).get(path).context["trace"]
    assert "revision" in kinds(seen)


def test_programs_get_the_same_parts(stage: Stage) -> None:
    request = stage.ask()
    view = trace(stage, request)
    said = reader(stage).get(f"runs/{request.run_id}/trace.json").json()
    assert [one["key"] for one in said["parts"]] == [one.key for one in view.parts]


def test_an_external_id_of_a_hostile_tool_is_inert(stage: Stage) -> None:
    request, bob = stuck(stage), reader(stage)
    effect = bob.case(request.id).progress.effect_id
    hostile = "<script>x</script>\u202e"
    said = {"outcome": "confirmed", "evidence": "Seen.", "external_id": hostile}
    bob.post(f"requests/{request.id}/resolve", said | {"effect": effect})
    html = bob.get(f"runs/{request.run_id}/trace").content.decode()
    view = trace(stage, request)
    effect, tried, known = (part(view, one) for one in ("effect", "attempt", "outside"))
    assert (tried.after, known.after) == ((effect.key,), (tried.key,))
    assert (tried.label, tried.note) == ("Attempt 1", "unknown")
    assert "<script>x" not in html
    assert "\u202e" not in html


def test_one_search_for_what_was_made_outside_leads_to_its_trace(stage: Stage) -> None:
    """A reviewer is led to their case."""
    request, bob = stuck(stage), reader(stage)
    said = {"outcome": "confirmed", "evidence": "Seen.", "external_id": "CR-771"}
    effect = bob.case(request.id).progress.effect_id
    bob.post(f"requests/{request.id}/resolve", said | {"effect": effect})
    alice = reader(stage, stage.house.alice)
    mine, hers = (who.get("queue?q=CR-771").headers["Location"] for who in (bob, alice))
    assert mine == f"{bob.home}/queue/{request.id}"
    assert hers == f"{bob.home}/runs/{request.run_id}/trace?request={request.id}"
    view = alice.client.get(hers).context["trace"]
    assert part(view, "outside").label == "CR-771"
    for who, there in ((bob, mine), (alice, hers)):  # however it is typed
        assert who.get("queue?q=cr-771").headers["Location"] == there


def test_an_external_id_typed_exactly_comes_before_other_capitals(
    stage: Stage,
) -> None:
    requests = [stuck(stage) for _ in range(2)]
    bob = reader(stage)
    for request, known in zip(requests, ("ch_1AbC", "ch_1aBc"), strict=True):
        said = {"outcome": "confirmed", "evidence": "Seen.", "external_id": known}
        effect = bob.case(request.id).progress.effect_id
        bob.post(f"requests/{request.id}/resolve", said | {"effect": effect})
    found = [
        bob.get(f"queue?q={text}").headers["Location"]
        for text in ("ch_1AbC", "ch_1aBc", "CH_1ABC")
    ]
    first, second = (f"{bob.home}/queue/{one.id}" for one in requests)
    assert found == [first, second, f"{bob.home}/queue?view=decided&q=CH_1ABC"]


@pytest.mark.parametrize("sought", ["CH_1ABC", "ch_1abc"])
def test_several_that_are_known_by_an_id_are_listed(stage: Stage, sought: str) -> None:
    """Of what differs in capitals, and of the very same."""
    known = ("ch_1AbC", "ch_1aBc") if sought.isupper() else ("ch_1abc", "ch_1abc")
    requests = [stuck(stage) for _ in range(3)]
    bob = reader(stage)
    for request, name in zip(requests, (*known, "ch_1ABCD"), strict=True):
        said = {"outcome": "confirmed", "evidence": "Seen.", "external_id": name}
        effect = bob.case(request.id).progress.effect_id
        bob.post(f"requests/{request.id}/resolve", said | {"effect": effect})
    for somebody in (bob, reader(stage, stage.house.alice)):
        there = somebody.get(f"queue?q={sought}&risk=low").headers["Location"]
        listed = somebody.client.get(there)
        assert listed.status_code == 200
        rows = {row.id for row in listed.context["queue"].rows}
        assert rows == {str(one.id) for one in requests[:2]}
        assert somebody.client.get(f"{there}&risk=low").status_code == 200  # narrowed


def test_what_was_made_outside_is_found_by_an_index(stage: Stage) -> None:
    """Also under row security, which lets a function of ours look at no other's rows."""
    fill(stage, stuck(stage), count=300)
    with CaptureQueriesContext(connection) as captured:
        reader(stage).get("queue?q=cr-7")
    sought = {one["sql"] for one in captured if "known_as" in one["sql"]}
    assert len(sought) == 2  # by its very name, and among what was decided
    for each in sought:
        with tenant_transaction(stage.tenant_id), connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN {each}")
            plan = "\n".join(line for (line,) in cursor.fetchall())
        assert re.search(r"Index Cond: .*known_as = 'CR-7'", plan), plan


def fill(stage: Stage, request: Request, *, count: int) -> None:
    """So many effects of one tenant that it matters how one of them is found."""
    with tenant_transaction(stage.tenant_id):
        Effect.objects.bulk_create(
            Effect(
                tenant_id=stage.tenant_id,
                run_id=request.run_id,
                tool_id=request.tool_id,
                request=new_id(),
                grant=new_id(),
                key=number.to_bytes(32),
                action=b"{}",
                state="confirmed",
                external_id=f"CR-{number}",
            )
            for number in range(count)
        )
    with superuser() as postgres:
        postgres.execute("ANALYZE checkpoints_effect")


def test_it_costs_no_more_for_many_parts(stage: Stage) -> None:
    stage.reviewer("Anna")
    stage.policy(rules=[{"approvals": 3}])
    request, amounts = stage.ask(), iter(range(9))

    def grow() -> None:
        arguments = {**ARGUMENTS, "amount": f"{next(amounts)}.00"}
        editor, other = stage.reviewer("Carol"), stage.reviewer("Dora")
        stage.answer(request, editor, verdict=V.EDIT, arguments=arguments, reason="x")
        stage.answer(request, other, reason="Fine.")

    def cost() -> int:
        with CaptureQueriesContext(connection) as captured:
            trace(stage, request)
        return len(captured)

    grow()
    before, parts = cost(), len(trace(stage, request).parts)
    grow()
    assert len(trace(stage, request).parts) > parts + 2
    assert cost() == before


NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


@st.composite
def parts(draw: st.DrawFn) -> list[Part]:
    """In the order of time, each following from some of those before it."""
    found: list[Part] = []
    at = NOON
    for number in range(draw(st.integers(0, 25))):
        at += timedelta(seconds=draw(st.sampled_from([0, 1, 500])))
        before = [one.key for one in found]
        chosen = (
            st.lists(st.sampled_from(before), max_size=3) if before else st.just([])
        )
        found.append(
            Part(
                key=f"n:{number}",
                lane=draw(st.sampled_from(LANES)),
                at=at,
                icon="effect",
                label="x",
                note="",
                href="",
                after=(*draw(chosen), "n:unknown"),
            )
        )
    return found


@given(parts())
def test_no_part_covers_another_and_time_runs_to_the_right(given: list[Part]) -> None:
    graph = draw_trace(given)
    spots = [(place.column, place.lane) for place in graph.places]
    assert len(set(spots)) == len(spots) == len(given)
    columns = [place.column for place in graph.places]
    assert columns == sorted(columns)
    column = {place.part.key: place.column for place in graph.places}
    for one in given:
        assert all(column[key] < column[one.key] for key in one.after if key in column)
    assert within(graph)


def within(graph: Graph) -> bool:
    wide = all(place.x + WIDTH <= graph.width for place in graph.places)
    tall = all(step.y + 46 <= graph.tall_height for step in graph.steps)
    return wide and tall
