"""Standing approvals that hold: how many there may be, and what ends all of them."""

from collections.abc import Callable
from typing import Any

import pytest

from approvals import beforehand
from approvals.beforehand import altered, live, state_of
from approvals.models import Request, StandingApproval
from approvals.services import recovery, standing, stopping
from approvals.services.erasure import erase_session
from approvals.services.recovery import begin_recovery, end_recovery
from approvals.services.stopping import TakenBack, Target, start_again, stop
from checkpoints.services.tools import register_tool
from kernel.canonical import APPROVAL_DOMAIN
from kernel.clock import database_now
from kernel.scope import tenant_transaction
from tenants.checks import Operator
from tests.approvals.stage import ARGUMENTS, Stage
from tests.approvals.standing_stage import (
    PERMITS,
    age,
    approved,
    asked,
    decision_of,
    edit,
    end_it,
    made,
    permitting,
    use,
)
from tests.approvals.superuser import superuser
from tests.approvals.test_recovery import forget, recovering, seq_of
from tests.refusals import refused

S = Request.State
OTHER = {"arguments": {**ARGUMENTS, "amount": "7.00"}}
type Ending = Callable[[Stage, StandingApproval], None]


def erase(stage: Stage, one: StandingApproval) -> None:
    with tenant_transaction(stage.tenant_id):
        session_id = Request.objects.get(id=one.request_id).session_id
    about = {"tenant_id": stage.tenant_id, "by": Operator.CONSOLE}
    erase_session(**about, session_id=session_id)


ENDINGS: list[Ending] = [end_it, age, edit("used = uses")]


def living(stage: Stage) -> list[StandingApproval]:
    """Those that are live, the oldest first."""
    with tenant_transaction(stage.tenant_id):
        return list(live().order_by("created_at"))


def several(stage: Stage, count: int) -> list[StandingApproval]:
    request = approved(stage)
    return [made(stage, request) for _ in range(count)]


# -- How many -----------------------------------------------------------------------------


def test_what_has_ended_in_any_way_is_not_live() -> None:
    stage = permitting()
    left, *ended = several(stage, 4)
    for ending, one in zip(ENDINGS, ended, strict=True):
        ending(stage, one)
    erase(stage, made(stage, approved(stage, **OTHER)))
    assert living(stage) == [left]
    with tenant_transaction(stage.tenant_id):
        rows = StandingApproval.objects.select_related("request__session")
        states = {state_of(one, database_now()) for one in rows.exclude(id=left.id)}
    assert states == {"revoked", "expired", "used_up", "erased"}


def test_no_more_hold_for_an_agent_and_tool_than_are_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(standing, "MOST_LIVE", 2)
    stage = permitting()
    request = approved(stage)
    first, _ = made(stage, request), made(stage, request)
    with refused("standing_refused", status=409):
        made(stage, request)
    assert len(living(stage)) == 2
    end_it(stage, first)  # which gives its place to another
    made(stage, request)
    by = stage.house.alice.id
    tag = {"name": "tag", "mode": "agent", "risk": "low", "definition": {}}
    register_tool(tenant_id=stage.tenant_id, by=by, **tag)
    made(stage, approved(stage, tool="tag"))  # another tool has its own


def test_asking_looks_at_so_many_and_at_none_that_has_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(beforehand, "MOST_LIVE", 1)
    stage = permitting()
    request = approved(stage)
    ended, soon = (made(stage, request, seconds=one) for one in (600, 3_600))
    late = made(stage, approved(stage, **OTHER))
    edit("used = uses")(stage, ended)
    assert asked(stage)[0].state == S.APPROVED
    assert asked(stage, **OTHER)[0].state == S.PENDING  # the later one is not looked at
    end_it(stage, soon)
    assert asked(stage, **OTHER)[0].state == S.APPROVED
    assert living(stage) == [late]


def test_none_is_made_of_a_wording_that_was_altered() -> None:
    """By whoever reaches the database, and made sure that its digest is right."""
    stage = permitting()
    request = approved(stage)
    with superuser() as connection:
        connection.execute(
            "UPDATE approvals_revision SET envelope = convert_to("
            " replace(convert_from(envelope, 'UTF8'), '1240.00', '9240.00'), 'UTF8')"
            " WHERE request_id = %s",
            [request.id],
        )
        connection.execute(
            "UPDATE approvals_revision SET digest = sha256("
            " convert_to(%s, 'UTF8') || decode('00', 'hex') || envelope)"
            " WHERE request_id = %s",
            [APPROVAL_DOMAIN, request.id],
        )
    with refused("standing_refused", status=409):
        made(stage, request)
    assert living(stage) == []


def test_a_policy_that_cannot_tell_permits_nothing_beforehand() -> None:
    """It asks for people where it errs, and in no more than that is it believed."""
    stage = permitting()
    stage.policy("two", standing=PERMITS, selector="arguments.missing > 1")
    with refused("standing_refused", status=409):
        made(stage)


WIDER = [
    "constraints = replace(constraints::text, '1240.00', '7.00')::jsonb",
    "expires_at = expires_at + interval '1 h'",
    "created_at = created_at - interval '1 h'",
    "uses = 3",  # as policy permits
    "author_id = {other}",
]


def test_what_was_widened_past_the_verbs_answers_nothing() -> None:
    """Each in another way; the one that is as it was signed still answers."""
    stage = permitting()
    other = f"'{stage.reviewer().id}'"
    whole, *rows = several(stage, 1 + len(WIDER))
    edit("expires_at = expires_at - interval '1 h'")(stage, whole)
    for change, one in zip(WIDER, rows, strict=True):
        edit(change.format(other=other))(stage, one)
    assert len(living(stage)) == 1 + len(WIDER)
    for about in ({}, OTHER):
        assert asked(stage, **about)[0].state == S.PENDING
    edit("expires_at = expires_at + interval '1 h'")(stage, whole)
    assert decision_of(asked(stage)[0]).standing_id == whole.id


# -- What ends all of them ----------------------------------------------------------------


def test_a_use_that_a_backup_has_forgotten_is_not_had_again() -> None:
    stage = permitting()
    one = made(stage, uses=1)
    before = seq_of(stage)
    assert use(stage, *asked(stage)) == ""
    forget(stage, before)
    edit("used = 0")(stage, one)
    with tenant_transaction(stage.tenant_id):
        assert altered(StandingApproval.objects.get(id=one.id)) is None  # it looks good
    waiting = asked(stage)
    assert waiting[0].state == S.APPROVED
    assert use(stage, *waiting) == "authority.recovery"
    ended = end_recovery(tenant_id=stage.tenant_id, by=Operator.CONSOLE, reason="Seen.")
    assert ended.standing == 1
    assert use(stage, *waiting) != ""
    assert asked(stage)[0].state == S.PENDING
    assert stage.fresh(one).used == 0


def counting(
    monkeypatch: pytest.MonkeyPatch, module: Any, look: Callable[[], Any]
) -> list[Any]:
    """What `look` sees after each transaction of a module's verb."""
    seen, perform = [], module.perform

    def performed(*args: Any, **kwargs: Any) -> Any:
        result = perform(*args, **kwargs)
        seen.append(look())
        return result

    monkeypatch.setattr(module, "perform", performed)
    return seen


def test_a_recovery_goes_on_when_none_is_left_and_by_short_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(standing, "STEP", 2)
    stage = permitting()
    rows = several(stage, 3)
    begin_recovery(stage.tenant_id)
    seen = counting(
        monkeypatch, recovery, lambda: (len(living(stage)), recovering(stage))
    )
    ended = end_recovery(
        tenant_id=stage.tenant_id, by=stage.house.alice.id, reason="Seen."
    )
    assert ended.standing == 3
    assert seen[-3:] == [(3, True), (1, True), (0, False)]
    assert {stage.fresh(one).revoked_reason for one in rows} == {recovery.REASON}


def aims(stage: Stage) -> list[Target]:
    agent = Target(agent_id=stage.house.robot.agent.id)
    return [agent, Target(tool_id=stage.tool.id), Target()]


@pytest.mark.parametrize("aim", range(3))
def test_a_stop_ends_what_holds_by_short_steps(
    monkeypatch: pytest.MonkeyPatch, aim: int
) -> None:
    monkeypatch.setattr(standing, "STEP", 2)
    stage = permitting()
    over, *_ = several(stage, 4)
    age(stage, over)
    stage.ask(**OTHER)
    seen = counting(monkeypatch, stopping, lambda: len(living(stage)))
    about = {"tenant_id": stage.tenant_id, "by": stage.house.alice.id}
    taken = stop(**about, target=aims(stage)[aim], reason="Odd.")
    assert taken == TakenBack(requests=2, grants=1, standing=3)
    assert seen == [1, 0]
    assert stage.fresh(over).revoked_at is None  # it had ended by itself


def test_what_a_broken_off_stop_left_ends_before_work_begins_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(standing, "STEP", 2)
    stage = permitting()
    several(stage, 3)
    about = {
        "tenant_id": stage.tenant_id,
        "by": stage.house.alice.id,
        "target": Target(agent_id=stage.house.robot.agent.id),
        "reason": "Odd.",
    }
    with monkeypatch.context() as breaking:
        counting(breaking, stopping, interrupt)
        with pytest.raises(KeyboardInterrupt):
            stop(**about)
    assert len(living(stage)) == 1
    assert not stage.fresh(stage.house.robot.agent).enabled
    assert start_again(**about).standing == 1
    assert living(stage) == []
    assert stage.fresh(stage.house.robot.agent).enabled


def interrupt() -> None:
    raise KeyboardInterrupt
