"""What administrators change while others decide: policies, rights, people, tools."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from approvals.models import Decision
from approvals.services.delegations import Leave, end_delegation, make_delegation
from approvals.services.policies import (
    cosign_policy,
    publish_policy,
    retire_policy,
)
from approvals.services.queues import give_right, take_right
from approvals.services.recovery import begin_recovery, end_recovery
from checkpoints.services.tools import change_tool, disable_tool
from kernel.problems import Problem
from tenants.checks import Operator
from tenants.services import (
    add_agent_owner,
    add_to_group,
    deactivate_member,
    disable_agent,
    enable_agent,
    end_agent_ownership,
    issue_key,
    reactivate_member,
    remove_from_group,
    revoke_key,
    start_tenant,
    stop_tenant,
)
from tests.factories import Machine
from tests.machine.agents import MOST_RUNS, asks
from tests.machine.machine import PICK, SELDOM, of
from tests.machine.people import REVIEWERS, People
from tests.machine.policies import DEFINITIONS, NAMES
from tests.machine.sight import find

TWO: Final = {
    "verdict": "require_review",
    "rules": [{"approvals": 2, "denials": 2}],
}
ANSWERS: Final = (Decision.Verdict.APPROVE, Decision.Verdict.REJECT)
RIGHTS: Final = ("decide", "decide", "view", "edit_arguments")


class Administrators(People):
    """Each rule is one sort of change; what is so already is refused, and told."""

    def change(self, act: Callable[..., Any], **about: Any) -> None:
        with self.step(act.__name__):
            try:
                act(**{"tenant_id": self.world.tenant_id, "by": self.world.by, **about})
            except Problem as problem:
                # Also `lost_race`, which says here that it was so before.
                self.tell(f"{act.__name__}: {problem.code}")

    @rule(
        name=st.sampled_from(NAMES),
        definition=st.sampled_from(DEFINITIONS),
        author=st.sampled_from(["alice", "dave", "erin", None, None]),
    )
    def publish(self, name: str, definition: Any, author: str | None) -> None:
        """Without an author: by the operator, on the server itself."""
        by = self.world.people[author].id if author else Operator.CONSOLE
        self.change(publish_policy, by=by, name=name, definition=definition)

    @precondition(lambda self: len(self.sight.runs) < MOST_RUNS)
    @rule(drawn=asks, who=st.sampled_from(REVIEWERS), verdict=st.sampled_from(ANSWERS))
    def ask_two_and_one_changes_their_mind(
        self, drawn: dict[str, Any], who: str, verdict: Any
    ) -> None:
        """Two have to agree, so that there is something to take back."""
        self.change(publish_policy, by=Operator.CONSOLE, name="third", definition=TWO)
        self.everything_holds()
        self.ask_in_one_call(drawn)
        self.everything_holds()
        request = max(self.sight.requests, key=lambda one: one.id)
        if request.state == "pending":
            self._answer(request, who, True, verdict=verdict, reason="Well.")
            self.everything_holds()
            self.takes_back(of(self.sight.requests, request.id), who)

    @precondition(lambda self: bool(self.sight.in_force))
    @rule(pick=PICK, cosigner=st.sampled_from([None, "dave", "erin"]))
    def retire_or_cosign(self, pick: int, cosigner: str | None) -> None:
        names = {one.policy_id: one.name for one in self.sight.policies}
        policies = sorted(names[one.policy] for one in self.sight.in_force)
        name = policies[pick % len(policies)]
        if cosigner is None:
            self.change(retire_policy, name=name)
        else:
            by = self.world.people[cosigner].id
            self.change(cosign_policy, by=by, name=name)

    @rule(
        act=st.sampled_from([give_right, take_right]),
        right=st.sampled_from(RIGHTS),
        who=st.sampled_from(["group", "bob", "carol"]),
    )
    def change_rights(self, act: Any, right: str, who: str) -> None:
        holder = (
            {"group_id": self.world.reviewers_id}
            if who == "group"
            else {"member_id": self.world.people[who].id}
        )
        self.change(act, queue_id=self.world.queue_id, right=right, **holder)

    @rule(
        act=st.sampled_from(
            [
                add_to_group,
                remove_from_group,
                deactivate_member,
                reactivate_member,
                add_agent_owner,
                end_agent_ownership,
            ]
        ),
        who=st.sampled_from(REVIEWERS),
    )
    def change_people(self, act: Any, who: str) -> None:
        about = {"member_id": self.world.people[who].id}
        if "group" in act.__name__:
            about["group_id"] = self.world.reviewers_id
        if "owner" in act.__name__:
            about["agent_id"] = self.world.robot.agent.id
        self.change(act, **about)

    @rule(
        away=st.sampled_from(REVIEWERS),
        instead=st.sampled_from([*REVIEWERS, "erin"]),
        own=st.booleans(),
        back=SELDOM,
    )
    def be_away(self, away: str, instead: str, own: bool, back: bool) -> None:
        """By themself or by the owner; who is away already may come back."""
        people = self.world.people
        by = people[away if own else "alice"].id
        known = find(
            self.sight.delegations, ended_at=None, delegator_id=people[away].id
        )
        if known and back:
            self.change(end_delegation, by=by, delegation_id=known[0].id)
            return
        leave = Leave(
            delegator_id=people[away].id,
            delegate_id=people[instead].id,
            starts_at=self.sight.now,
            ends_at=self.sight.now + timedelta(hours=2),
        )
        self.change(make_delegation, by=by, leave=leave)

    @rule(act=st.sampled_from(["agent", "tenant", "key", "recovery"]), seldom=SELDOM)
    def switch(self, act: str, seldom: bool) -> None:
        """On again what is off, and seldom something off; a key is replaced."""
        agent = {"agent_id": self.world.robot.agent.id}
        if self.sight.tenants[0].state != "active":
            self.change(start_tenant)
        elif not self.sight.agents[0].enabled:
            self.change(enable_agent, **agent)
        elif self.sight.tenants[0].recovering_since is not None:
            self.change(end_recovery, reason="All is compared.")
        elif seldom and act == "recovery":
            with self.step("begin_recovery"):
                begin_recovery(self.world.tenant_id)
        elif seldom and act == "agent":
            self.change(disable_agent, **agent)
        elif seldom and act == "tenant":
            self.change(stop_tenant)
        elif seldom:
            self._rotate_key()

    def _rotate_key(self) -> None:
        """The old key dies, and the agent goes on under a new one."""
        agent, old = self.world.robot.agent, self.world.principal.key_id
        issued = issue_key(
            tenant_id=self.world.tenant_id,
            by=self.world.people["erin"].id,
            agent_id=agent.id,
            name="next",
            environment="test",
        )
        self.world.robot = Machine(agent=agent, key=issued.key, text=issued.text)
        self.change(revoke_key, key_id=old)

    @rule(
        pick=PICK,
        risk=st.sampled_from(["low", "medium", "critical"]),
        title=st.sampled_from(["{payee}: {amount}", "Pay {amount}"]),
        disable=st.sampled_from([False, False, True]),
    )
    def change_a_tool(self, pick: int, risk: str, title: str, disable: bool) -> None:
        tool = self.choose(self.sight.tools, pick)
        if disable and tool.enabled:
            self.change(disable_tool, tool_id=tool.id)
            return
        definition = {**tool.definition, "title": title}
        about = {"mode": tool.mode, "risk": risk, "definition": definition}
        self.change(change_tool, tool_id=tool.id, **about)
