"""The time machine for rights: what it says of a time is what live rows said then."""

import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest

from approvals.envelope import Envelope
from approvals.judging import judge_action
from approvals.models import Decision, Request, Revision
from approvals.policy import Obligation
from approvals.separation import Key, standing
from approvals.services.policies import cosign_policy, publish_policy, retire_policy
from approvals.services.queues import give_right, take_right
from approvals.services.taking_back import take_back
from kernel.clock import database_now
from kernel.ids import new_id
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from kernel.update import LostRace
from oversight.pages.rights.answer import Owed, who_could_have
from tenants.models import Role
from tenants.services import (
    accept_invitation,
    add_agent_owner,
    add_to_group,
    change_role,
    create_group,
    deactivate_member,
    end_agent_ownership,
    extend_guest,
    invite_guest,
    reactivate_member,
    remove_from_group,
)
from tests.approvals.stage import ARGUMENTS, Stage, fresh_stage
from tests.approvals.views.browsing import reader
from tests.audit.conftest import superuser as superuser
from tests.examples.waiting import wait_until
from tests.factories import Somebody, fresh_member, fresh_user

V = Decision.Verdict
STEPS = 40


@pytest.fixture
def stage() -> Stage:
    return fresh_stage()


type Told = tuple[Any, ...]


def live(stage: Stage, request: Request) -> tuple[Told, Told]:
    """Who counts now, by today's rows alone: for what is pinned, and for what is asked."""
    now = Request.objects.select_related(
        "agent", "key", "session", "run__workflow", "run__session"
    ).get(id=request.id)
    revision = Revision.objects.get(request=now, number=now.revision)
    envelope = Envelope(bytes(revision.envelope))
    action = envelope.action
    current = judge_action(
        tool=action.tool,
        arguments=action.arguments,
        target=action.target,
        risk=now.risk,
        key=now.key,
        agent=now.agent,
        session=now.session,
        run=now.run,
    )

    def stands(obligation: Obligation) -> Told:
        found = standing(now, revision, envelope, obligation)
        people = [(rule, found.eligible[rule]) for rule in obligation.rules]
        everybody = {one for _, some in people for one in some}
        short = found.missing_with([Key(one) for one in sorted(everybody)])
        return obligation, people, found.excluded, short

    return stands(envelope.obligation), stands(current)


def remembered(owed: Owed) -> Told:
    people = [(one.rule, one.people) for one in owed.rules]
    return owed.obligation, people, owed.excluded, owed.short


def asked(stage: Stage, request: Request) -> Request:
    rows = Request.objects.select_related(
        "agent", "key", "session", "run__workflow", "run__session"
    )
    return rows.get(id=request.id)


def guest_of(stage: Stage) -> UUID:
    """Somebody who was invited for a day and came."""
    by = {"tenant_id": stage.tenant_id, "by": stage.house.alice.id}
    user = fresh_user("Guest")
    asked = invite_guest(**by, email=user.email, days=1)
    token = asked.link.rpartition("/")[2]
    return accept_invitation(token=token, user_id=user.id, name="Guest").id


@dataclass
class History:
    """Random changes of all that rights come from, each by its verb."""

    stage: Stage
    request: Request
    chance: random.Random
    people: list[Somebody] = field(default_factory=list)
    groups: list[UUID] = field(default_factory=list)
    guests: list[UUID] = field(default_factory=list)

    def step(self) -> None:
        """One of them that is not refused just now: what is changes nothing."""
        while True:
            with suppress(Problem, LostRace):
                self.chance.choice(self._steps())()
                return

    def _steps(self) -> list[Callable[[], Any]]:
        by, who = self._by(), self.chance.choice(self.people).id
        group = self.chance.choice(self.groups)
        agent = self.stage.house.robot.agent.id
        queue: dict[str, Any] = {
            "queue_id": self.stage.queue.id,
            "right": self.chance.choice(["decide", "decide", "resolve"]),
        }
        queue |= self.chance.choice([{"group_id": group}, {"member_id": who}])
        role = self.chance.choice([Role.REVIEWER, Role.ADMIN, Role.AUDITOR])
        return [
            lambda: deactivate_member(**by, member_id=who),
            lambda: reactivate_member(**by, member_id=who),
            lambda: change_role(**by, member_id=who, role=role),
            lambda: add_to_group(**by, group_id=group, member_id=who),
            lambda: remove_from_group(**by, group_id=group, member_id=who),
            lambda: give_right(**by, **queue),
            lambda: take_right(**by, **queue),
            *self._seldom(by, agent, who),
            self._publish,
            self._publish,
            self._retire,
            self._cosign,
            self._edit,
            self._guest,
        ]

    def _seldom(
        self, by: dict[str, Any], agent: UUID, who: UUID
    ) -> list[Callable[[], Any]]:
        """Whoever owned the agent since it was asked is out of it for good."""
        if self.chance.random() < 0.9:
            return []
        return [
            lambda: add_agent_owner(**by, agent_id=agent, member_id=who),
            lambda: end_agent_ownership(**by, agent_id=agent, member_id=who),
        ]

    def _by(self) -> dict[str, Any]:
        return {"tenant_id": self.stage.tenant_id, "by": self.stage.house.alice.id}

    def _publish(self) -> None:
        who, group = self.chance.choice(self.people), self.chance.choice(self.groups)
        eligible: dict[str, Any] = self.chance.choice(
            [{}, {"groups": [str(group)]}, {"members": [str(who.id)]}]
        )
        rules = [{"eligible": eligible, "approvals": self.chance.choice([1, 2])}]
        publish_policy(
            tenant_id=self.stage.tenant_id,
            by=self.chance.choice(self.people).id,
            name=self.chance.choice(["one", "two", "three"]),
            definition={
                "verdict": "require_review",
                "selector": self.chance.choice(["true", "tool == 'pay'", "false"]),
                "rules": rules,
            },
        )

    def _retire(self) -> None:
        retire_policy(**self._by(), name=self.chance.choice(["one", "two", "three"]))

    def _cosign(self) -> None:
        cosign_policy(**self._by(), name=self.chance.choice(["one", "two", "three"]))

    def _edit(self) -> None:
        arguments = {**ARGUMENTS, "amount": f"{self.chance.randrange(1, 999)}.00"}
        by = self.chance.choice(self.people)
        self.stage.answer(
            self.request, by, verdict=V.EDIT, arguments=arguments, reason="So."
        )

    def _guest(self) -> None:
        if self.guests:
            extend_guest(**self._by(), member_id=self.guests[0], days=2)
        guest = guest_of(self.stage)
        self.guests.append(guest)
        add_to_group(
            **self._by(), group_id=self.chance.choice(self.groups), member_id=guest
        )


@pytest.mark.parametrize("seed", [1, pytest.param(5, marks=pytest.mark.long)])
def test_it_says_of_each_time_what_live_rows_said_then(stage: Stage, seed: int) -> None:
    """After a random history, at every time between its steps."""
    request = stage.ask()
    people = [stage.bob, *(stage.reviewer(f"R{n}") for n in range(5))]
    by = {"tenant_id": stage.tenant_id, "by": stage.house.alice.id}
    for one in people[:2]:
        change_role(**by, member_id=one.id, role=Role.ADMIN)
    more = create_group(**by, name="Treasury")
    history = History(
        stage=stage,
        request=request,
        chance=random.Random(seed),
        people=people,
        groups=[stage.house.reviewers.id, more.id],
    )
    snapshots: list[tuple[datetime, tuple[Told, Told]]] = []
    for _ in range(STEPS):
        history.step()
        with tenant_transaction(stage.tenant_id):
            snapshots.append((database_now(), live(stage, request)))
    told = [one for _, one in snapshots]
    assert sum(a != b for a, b in pairwise(told)) >= STEPS // 5  # it did change
    with tenant_transaction(stage.tenant_id):
        found = asked(stage, request)
        for at, (pinned, current) in snapshots:
            answer = who_could_have(found, at)
            assert remembered(answer.pinned) == pinned, at
            assert remembered(answer.current) == current, at


def test_how_the_question_stood_is_told_too(stage: Stage) -> None:
    request, times = stage.ask(), []
    times.append(_now(stage))
    stage.answer(request)
    times.append(_now(stage))
    with tenant_transaction(stage.tenant_id):
        found = asked(stage, request)
        states = [who_could_have(found, at).state for at in times]
        assert states == ["pending", "approved"]
        with pytest.raises(Problem, match="not_found"):
            who_could_have(found, found.created_at - timedelta(seconds=1))


def test_a_right_that_nobody_signed_is_not_believed(
    stage: Stage, superuser: Any
) -> None:
    """Whoever writes an entry into the table without the key gives nobody a right."""
    request = stage.ask()
    at = _now(stage)
    superuser.execute(
        "INSERT INTO audit_entry SELECT %s, tenant_id, seq + 1000, at, kind, actor_type,"
        " actor_id, subject_type, subject_id, data, body, prev, hash, signature, key_id"
        " FROM audit_entry WHERE tenant_id = %s AND kind = 'group.member_added'"
        " ORDER BY seq DESC LIMIT 1",
        new_id(),
        stage.tenant_id,
    )
    with tenant_transaction(stage.tenant_id):
        assert who_could_have(asked(stage, request), at).then.unsigned == 1


def test_what_is_said_of_a_member_nobody_signed_in_is_no_error(
    stage: Stage, superuser: Any
) -> None:
    """Every kind of entry about somebody whose coming in was tampered with."""
    by = {"tenant_id": stage.tenant_id, "by": stage.house.alice.id}
    request, bob = stage.ask(), {"member_id": stage.bob.id}
    change_role(**by, **bob, role=Role.AUDITOR)
    deactivate_member(**by, **bob)
    reactivate_member(**by, **bob)
    guest = guest_of(stage)
    extend_guest(**by, member_id=guest, days=2)
    at = _now(stage)
    alice = reader(stage, stage.house.alice)
    path = f"requests/{request.id}/rights"
    before = alice.get(path, query_params={"at": at.isoformat()}).context["rights"]
    superuser.execute(
        "UPDATE audit_entry SET signature = %s"
        " WHERE tenant_id = %s AND subject_id = ANY(%s) AND kind = 'member.added'",
        bytes(64),
        stage.tenant_id,
        [stage.bob.id, guest],
    )
    then = alice.get(path, query_params={"at": at.isoformat()})
    assert then.status_code == 200
    told = then.context["rights"]
    assert (before.unsigned, told.unsigned) == (0, 2)
    assert str(stage.bob.user) in before.answer
    assert str(stage.bob.user) not in told.answer


@pytest.mark.parametrize(
    ("verdict", "became"),
    [
        (V.APPROVE, "was approved"),
        (V.REJECT, "was rejected"),
        (V.REQUEST_CHANGES, "was sent back for changes"),
    ],
)
def test_of_what_is_decided_the_page_begins_as_it_was_decided(
    stage: Stage, verdict: Decision.Verdict, became: str
) -> None:
    """And says why nobody can now."""
    request, alice = stage.ask(), reader(stage, stage.house.alice)
    path = f"requests/{request.id}/rights"
    assert alice.get(path).context["rights"].became == ""
    stage.answer(request, verdict=verdict, reason="So.")
    deactivate_member(
        tenant_id=stage.tenant_id, by=stage.house.alice.id, member_id=stage.bob.id
    )
    page = alice.get(path)
    rights = page.context["rights"]
    assert rights.answer == f"{stage.bob.user} could have."
    assert rights.became == became
    assert f"Now nobody can: it {became} on" in page.content.decode()
    said = alice.client.get(rights.json_href).json()
    assert (said["state"], said["pinned"]["people"]) == ("pending", [str(stage.bob.id)])
    now = alice.get(path, query_params={"at": _now(stage).isoformat()})
    assert now.context["rights"].answer.startswith("Nobody: it was")


def test_it_says_whose_key_had_turned_and_who_could_have_turned_the_other(
    stage: Stage,
) -> None:
    """Who is left depends on the rules: one of them is for one person alone."""
    bob, carol = stage.bob, stage.reviewer("Carol")
    only_carol = {"eligible": {"members": [str(carol.id)]}, "approvals": 1}
    stage.policy(rules=[{"approvals": 1}, only_carol])
    request, alice = stage.ask(), reader(stage, stage.house.alice)
    path = f"requests/{request.id}/rights"

    def answer() -> str:
        return str(alice.get(path).context["rights"].answer)

    them = " or ".join(sorted((str(bob.user), "Carol")))
    assert answer() == f"2 keys were needed: 1 of {them} and 1 of Carol."
    stage.answer(request, bob)
    assert answer() == f"{bob.user} had turned a key; 1 more was needed, of Carol."
    stage.answer(request, carol)
    rights = alice.get(path).context["rights"]
    assert (rights.just_before, rights.answer) == (
        True,
        f"{bob.user} had turned a key; 1 more was needed, of Carol.",
    )


def test_a_key_had_turned_until_it_was_taken_back(stage: Stage) -> None:
    bob = stage.bob
    stage.reviewer("Carol")
    stage.policy(rules=[{"approvals": 2}])
    request, alice = stage.ask(), reader(stage, stage.house.alice)
    path = f"requests/{request.id}/rights"

    def at(when: datetime) -> str:
        shown = alice.get(path, query_params={"at": when.isoformat()})
        return str(shown.context["rights"].answer)

    stage.answer(request, bob)
    turned = _now(stage)
    digest = stage.digest(request)
    take_back(bob.person, request_id=request.id, digest=digest)
    gone = _now(stage)
    stage.answer(request, bob)
    again = _now(stage)
    told = f"{bob.user} had turned a key; 1 more was needed, of Carol."
    assert [at(turned), at(again)] == [told] * 2
    assert at(gone).startswith("2 keys were needed: 2 of ")


def test_of_what_nobody_answered_it_begins_before_the_time_was_over(
    stage: Stage,
) -> None:
    request = stage.ask(decide_within=1)
    wait_until(lambda: _now(stage) > request.due_at)
    reader(stage).decide(request.id, "approve")  # closes it by the clock
    alice = reader(stage, stage.house.alice)
    rights = alice.get(f"requests/{request.id}/rights").context["rights"]
    assert (rights.became, rights.at < request.due_at) == ("expired", True)
    assert rights.answer == f"{stage.bob.user} could have."


def test_the_page_tells_a_removed_reviewer_of_the_past(stage: Stage) -> None:
    request, at = stage.ask(), ""
    with tenant_transaction(stage.tenant_id):
        at = database_now().isoformat()
    deactivate_member(
        tenant_id=stage.tenant_id, by=stage.house.alice.id, member_id=stage.bob.id
    )
    alice = reader(stage, stage.house.alice)
    path = f"requests/{request.id}/rights"
    now = alice.get(path).context["rights"]
    then = alice.get(path, query_params={"at": at}).context["rights"]
    assert str(stage.bob.user) not in now.answer
    assert str(stage.bob.user) in then.answer
    said = alice.get(f"{path}.json", query_params={"at": at}).json()
    assert said["pinned"]["people"] == [str(stage.bob.id)]
    assert str(stage.house.alice.id) in said["pinned"]["excluded"]


@pytest.mark.parametrize("typed", ["yesterday", "2001-01-01T00:00", "\0", "9" * 60])
def test_a_time_that_is_none_is_said_beside_its_field(stage: Stage, typed: str) -> None:
    request, alice = stage.ask(), reader(stage, stage.house.alice)
    path = f"requests/{request.id}/rights"
    answer = alice.get(path, query_params={"at": typed})
    assert answer.status_code == 422
    assert 'id="at-error"' in answer.content.decode()
    assert alice.get(f"{path}.json", query_params={"at": typed}).status_code == 404


def test_only_those_who_oversee_look_back_at_people(stage: Stage) -> None:
    request = stage.ask()
    paths = (
        f"requests/{request.id}/rights",
        f"requests/{request.id}/rights.json",
        f"people/{stage.bob.id}/history",
    )
    auditor = reader(stage, fresh_member(stage.house.alice, "Aud", role=Role.AUDITOR))
    for path in paths:
        assert reader(stage).get(path).status_code == 403
        assert auditor.get(path).status_code == 200


def _now(stage: Stage) -> datetime:
    with tenant_transaction(stage.tenant_id):
        return database_now()
