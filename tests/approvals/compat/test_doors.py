"""Other frameworks' bodies: asked about by the same verbs, answered in their own shapes."""

import asyncio
import json
from typing import Any

import pytest

from approvals.models import Decision
from approvals.wait.hub import hub
from kernel.ids import new_id
from tests.api import Api
from tests.api.approval_doors import human
from tests.approvals.compat.asking import (
    HITL,
    HUMAN,
    OTHERS,
    asking,
    flaw,
    get,
    made,
    rows,
    traced,
    verified,
)
from tests.approvals.stage import ARGUMENTS, Stage, fresh_stage
from tests.approvals.wait.asynchronous import beside, on_a_loop, until
from tests.factories import fresh_agent, unique

V = Decision.Verdict


@pytest.fixture(scope="module")
def stage() -> Stage:
    return fresh_stage()


@pytest.fixture
def api(stage: Stage) -> Api:
    return Api.of(stage.house.robot)


# -- Several actions at once ------------------------------------------------------------


def test_each_action_has_its_own_answer_in_the_order_of_the_body(
    stage: Stage, api: Api
) -> None:
    four = [{**ARGUMENTS, "amount": f"{n}.00"} for n in range(1, 5)]
    document = made(api.post(HITL, asking(*four)))
    assert (document["answered"], document["response"]) == (False, None)
    assert [one["arguments"] for one in document["requests"]] == four
    pay, edit, reject, respond = rows(stage, document)
    stage.answer(respond, verdict=V.RESPOND, response="It is paid.")
    stage.answer(reject, verdict=V.REJECT, reason="Not now")
    stage.answer(edit, verdict=V.EDIT, arguments=OTHERS)
    stage.answer(edit, by=stage.reviewer())
    place = f"{HITL}/{document['id']}"
    assert made(api.get(place), 200)["response"] is None
    stage.answer(pay)
    verified(stage, pay, edit, reject, respond)
    found = made(api.get(place), 200)
    assert found["response"] == {
        "decisions": [
            {"type": "approve"},
            {"type": "edit", "edited_action": {"name": "pay", "args": OTHERS}},
            {"type": "reject", "message": "Not now"},
            {"type": "respond", "message": "It is paid."},
        ]
    }
    assert [one["next"] for one in found["requests"]] == [
        "redeem",
        "redeem",
        "stop",
        "use_answer",
    ]


def test_what_is_answered_lets_nothing_happen_until_it_is_redeemed_once(
    stage: Stage, api: Api
) -> None:
    document = made(api.post(HITL, asking(ARGUMENTS)))
    (request,) = rows(stage, document)
    stage.answer(request)
    verified(stage, request)
    place, fence = f"approvals/{request.id}/redeem", document["fence"]
    effect = made(api.post(place, fence=fence), 200)["effect"]
    assert made(api.post(place, fence=fence), 200)["effect"] == effect
    told = {"attempt": 1, "outcome": "confirmed"}
    made(api.post(f"effects/{effect['id']}/report", told, fence=fence), 200)
    assert flaw(api.post(place, fence=fence))[0] == 409
    again = made(api.get(f"{HITL}/{document['id']}"), 200)
    assert again["response"] == {"decisions": [{"type": "approve"}]}


def test_all_are_asked_or_none(stage: Stage, api: Api) -> None:
    before = traced(stage)
    wrong = api.post(HITL, asking(ARGUMENTS, {**OTHERS, "amount": "much"}))
    assert flaw(wrong) == (
        422,
        "arguments_invalid",
        "/action_requests/1/args/amount",
    )
    secret = asking(ARGUMENTS, {**OTHERS, "payee": "AKIA" + "Z7QK3MXV2TPLW2RB"})
    assert flaw(api.post(HITL, secret))[1:] == (
        "secret_in_arguments",
        "/action_requests/1/args/payee",
    )
    assert traced(stage) == before


def test_a_repeated_request_asks_once(stage: Stage, api: Api) -> None:
    body, key = asking(ARGUMENTS, OTHERS), str(new_id())
    first = api.post(HITL, body, Idempotency_Key=key)
    before = traced(stage)
    again = api.post(HITL, body, Idempotency_Key=key)
    assert made(again) == made(first)
    assert traced(stage) == before
    other = api.post(HITL, asking(ARGUMENTS), Idempotency_Key=key)
    assert flaw(other)[:2] == (422, "idempotency_mismatch")


def test_of_several_configs_all_hold_and_a_no_is_always_possible(
    stage: Stage, api: Api
) -> None:
    body = asking(ARGUMENTS, allowed=["approve", "edit"])
    body["review_configs"] += asking(allowed=["approve", "respond"])["review_configs"]
    (request,) = rows(stage, made(api.post(HITL, body)))
    assert set(request.allowed) == {"approve", "reject"}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"action_request": []}, ("unknown_field", "/action_request")),
        ({"action_requests": []}, ("invalid_field", "/action_requests")),
        (
            {
                "review_configs": [
                    {"action_name": "other", "allowed_decisions": ["edit"]}
                ]
            },
            ("invalid_field", "/action_requests/0/name"),
        ),
        (
            {
                "review_configs": [
                    {"action_name": "pay", "allowed_decisions": ["allow"]}
                ]
            },
            ("invalid_field", "/review_configs/0/allowed_decisions/0"),
        ),
        (
            {"action_requests": [{"name": "pay", "arguments": {}, "args": {}}]},
            ("unknown_field", "/action_requests/0/arguments"),
        ),
        (
            {"action_requests": [{"name": "pay"}]},
            ("invalid_field", "/action_requests/0/args"),
        ),
        ({"keyturn": {"runs": 1}}, ("unknown_field", "/keyturn/runs")),
        ({"decisions": [{"type": "approve"}]}, ("unknown_field", "/decisions")),
    ],
    ids=repr,
)
def test_what_the_shape_does_not_have_is_refused(
    stage: Stage, api: Api, change: dict[str, Any], expected: tuple[str, str]
) -> None:
    before = traced(stage)
    answer = api.post(HITL, {**asking(ARGUMENTS), **change})
    assert flaw(answer) == (400, *expected)
    assert traced(stage) == before


def test_what_a_worker_does_is_not_told_to_the_agent_as_well() -> None:
    stage = fresh_stage("managed", url="https://pay.invalid/")
    before = traced(stage)
    answer = Api.of(stage.house.robot).post(HITL, asking(ARGUMENTS))
    assert flaw(answer) == (409, "tool_is_managed", "/action_requests/0/name")
    assert traced(stage) == before


def test_they_may_be_asked_in_a_run_by_its_writer(stage: Stage, api: Api) -> None:
    run = stage.run()
    body = {**asking(ARGUMENTS), "keyturn": {"run": str(run.id)}}
    assert flaw(api.post(HITL, body))[:2] == (428, "fence_required")
    assert flaw(api.post(HITL, body, fence=run.fence + 1))[:2] == (409, "stale_writer")
    assert made(api.post(HITL, body, fence=run.fence))["run"] == str(run.id)


# -- The older shape --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "config", "response"),
    [
        ({}, {}, {"type": "accept", "args": None}),
        (
            {"verdict": V.RESPOND, "response": "By hand."},
            {},
            {"type": "response", "args": "By hand."},
        ),
        ({"verdict": V.REJECT, "reason": "No"}, {}, {"type": "response", "args": "No"}),
        (
            {"verdict": V.REJECT, "reason": "No"},
            {"allow_respond": False},
            {"type": "ignore", "args": None},
        ),
    ],
    ids=repr,
)
def test_the_older_shape_is_answered_in_its_own(
    stage: Stage,
    api: Api,
    said: dict[str, Any],
    config: dict[str, bool],
    response: dict[str, Any],
) -> None:
    body = human()
    document = made(api.post(HUMAN, {**body, "config": {**body["config"], **config}}))
    (request,) = rows(stage, document)
    stage.answer(request, **said)
    verified(stage, request)
    assert made(api.get(f"{HUMAN}/{document['id']}"), 200)["response"] == response


def test_an_edit_is_told_in_the_older_shape_too(stage: Stage, api: Api) -> None:
    document = made(api.post(HUMAN, human()))
    (request,) = rows(stage, document)
    stage.answer(request, verdict=V.EDIT, arguments=OTHERS)
    stage.answer(request, by=stage.reviewer())
    verified(stage, request)
    found = made(api.get(f"{HUMAN}/{document['id']}"), 200)["response"]
    assert found == {"type": "edit", "args": {"action": "pay", "args": OTHERS}}


def test_a_flaw_is_where_the_older_shape_has_it(api: Api) -> None:
    body = human()
    body["action_request"] = {"action": "pay", "args": {"payee": "x"}}
    answer = api.post(HUMAN, body)
    assert flaw(answer) == (422, "arguments_invalid", "/action_request/args")


def test_who_waits_hears_when_the_last_is_answered(stage: Stage, api: Api) -> None:
    document = made(api.post(HITL, asking(ARGUMENTS, OTHERS)))
    first, last = rows(stage, document)

    async def story() -> Any:
        place = f"{HITL}/{document['id']}?wait=20"
        waiting = asyncio.create_task(get(stage.house.robot, place))
        await until(lambda: len(hub()._versions) == 2)
        await beside(lambda: stage.answer(first, verdict=V.REJECT, reason="No"))
        await beside(lambda: stage.answer(last, verdict=V.RESPOND, response="By hand."))
        await beside(lambda: verified(stage, first, last))
        return await waiting

    answer = on_a_loop(story())
    assert [
        one["type"] for one in json.loads(answer.content)["response"]["decisions"]
    ] == [
        "reject",
        "respond",
    ]


@pytest.mark.parametrize("place", [HITL, HUMAN])
def test_another_shape_another_agent_and_no_interrupt_are_alike(
    stage: Stage, api: Api, place: str
) -> None:
    hitl, older = (
        made(api.post(HITL, asking(ARGUMENTS))),
        made(api.post(HUMAN, human())),
    )
    other = hitl["id"] if place == HUMAN else older["id"]
    mine = older["id"] if place == HUMAN else hitl["id"]
    plain = stage.ask().pause_id
    stranger = Api.of(fresh_agent(stage.house.alice, name=unique()))
    answers = [api.get(f"{place}/{id}") for id in (other, plain, new_id())]
    answers.append(stranger.get(f"{place}/{mine}"))
    assert {flaw(one) for one in answers} == {(404, "not_found", None)}
    assert len({json.dumps(one.json(), sort_keys=True) for one in answers}) == 1
