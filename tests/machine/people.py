"""What people do: decide, revoke, resolve; and publish, give, take, switch, change."""

from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from approvals.models import Decision
from approvals.policy.beforehand import Constraint
from approvals.services.attention import abandon_run, release_run
from approvals.services.case import Answer
from approvals.services.decide import decide
from approvals.services.resolve import resolve_effect
from approvals.services.revoke import revoke
from approvals.services.standing import Terms, make_standing, revoke_standing
from approvals.services.taking_back import take_back
from tests.machine.agents import AMOUNTS, Agents
from tests.machine.ending import DOUBTED
from tests.machine.machine import PICK, SELDOM, has, of
from tests.machine.sight import find
from tests.machine.world import PEOPLE

V = Decision.Verdict
REVIEWERS: Final = ("bob", "carol", "dave")
# Mostly those who may, and now and then somebody who must not.
SOMEBODY: Final = st.sampled_from([*REVIEWERS, *REVIEWERS, *PEOPLE])


class People(Agents):
    """Reviewers, administrators, the asking side, and a stranger."""

    def _answer(self, request: Any, who: str, fresh: bool, **said: Any) -> None:
        answer = Answer(digest=bytes(self.sight.current(request).digest), **said)
        with self.step(f"{answer.verdict} {request.state}"):
            self.repeatable(
                "decide",
                lambda once: decide(
                    self.world.person(who, fresh=fresh),
                    request_id=request.id,
                    answer=answer,
                    once=once,
                ),
                request.id,
                who,
            )

    @has("requests", "pending")
    @rule(pick=PICK, who=SOMEBODY, fresh=st.booleans(), reason=st.booleans())
    def approve(self, pick: int, who: str, fresh: bool, reason: bool) -> None:
        request = self.choose(self.requests("pending"), pick)
        said = "Fine." if reason else ""
        self._answer(request, who, fresh, verdict=V.APPROVE, reason=said)

    @precondition(lambda self: bool(self.sight.delegations))
    @has("requests", "pending")
    @rule(
        pick=PICK,
        other=PICK,
        who=SOMEBODY,
        verdict=st.sampled_from([V.APPROVE, V.APPROVE, V.APPROVE, V.REJECT, V.EDIT]),
    )
    def answer_for(self, pick: int, other: int, who: str, verdict: Any) -> None:
        """Mostly the delegate for the delegator; and now and then anybody for anybody."""
        request = self.choose(self.requests("pending"), pick)
        away = self.choose(self.sight.delegations, other)
        named = {one.id: name for name, one in self.world.people.items()}
        who = named.get(away.delegate_id, who) if other % 2 else who
        said = (
            {"arguments": {"payee": "x", "amount": "1.00"}} if verdict == V.EDIT else {}
        )
        self._answer(
            request,
            who,
            True,
            verdict=verdict,
            reason="So.",
            on_behalf_of=away.delegator_id,
            **said,
        )

    @has("requests", "pending")
    @rule(pick=PICK)
    def approve_together(self, pick: int) -> None:
        """As many reviewers as it takes, one after the other."""
        request = self.choose(self.requests("pending"), pick)
        for who in REVIEWERS:
            self._answer(request, who, True, verdict=V.APPROVE, reason="Fine.")
            self.everything_holds()
            if of(self.sight.requests, request.id).state != "pending":
                return

    @has("requests", "pending")
    @rule()
    def approve_everything(self) -> None:
        for request in self.requests("pending"):
            for who in REVIEWERS:
                self._answer(request, who, True, verdict=V.APPROVE, reason="Fine.")
                self.everything_holds()
                if of(self.sight.requests, request.id).state != "pending":
                    break

    @has("requests", "pending")
    @rule(pick=PICK, who=SOMEBODY, amount=st.sampled_from(AMOUNTS))
    def edit(self, pick: int, who: str, amount: str) -> None:
        request = self.choose(self.requests("pending"), pick)
        arguments = {"payee": "Edited", "amount": amount}
        self._answer(
            request, who, True, verdict=V.EDIT, arguments=arguments, reason="Less."
        )

    @has("requests", "pending", "approved", "consumed")
    @rule(
        pick=PICK,
        who=SOMEBODY,
        verdict=st.sampled_from([V.REJECT, V.RESPOND, V.REQUEST_CHANGES]),
        response=st.sampled_from(["yes", "no"]),
    )
    def answer(self, pick: int, who: str, verdict: Any, response: str) -> None:
        request = self.choose(self.requests("pending", "approved", "consumed"), pick)
        said = {"response": response} if verdict == V.RESPOND else {}
        self._answer(request, who, True, verdict=verdict, reason="So.", **said)

    @has("requests", "pending", "approved")
    @rule(pick=PICK, who=SOMEBODY)
    def answer_what_was_asked_before(self, pick: int, who: str) -> None:
        """A tab that was left open."""
        request = self.choose(self.requests("pending", "approved"), pick)
        first = self.sight.revision(request.id, 1)
        if request.revision == 1:
            return
        with self.step("approve what was asked before"):
            answer = Answer(
                verdict=V.APPROVE, digest=bytes(first.digest), reason="Fine."
            )
            decide(self.world.person(who), request_id=request.id, answer=answer)
            self.blame(["an old wording was approved"])

    @has("requests", "pending", "approved")
    @rule(pick=PICK, who=SOMEBODY, other=PICK)
    def take_back(self, pick: int, who: str, other: int) -> None:
        """Mostly whoever has answered; and now and then somebody who has not."""
        request = self.choose(self.requests("pending", "approved"), pick)
        own = self._who_answered(request)
        self.takes_back(request, own[other % len(own)] if own and other else who)

    def _who_answered(self, request: Any) -> list[str]:
        """Whose answers to what is asked now count."""
        named = {one.id: name for name, one in self.world.people.items()}
        revision = self.sight.current(request)
        given = find(self.sight.decisions, revision_id=revision.id, dismissed_at=None)
        return [named[one.member_id] for one in given if one.member_id]

    def takes_back(self, request: Any, who: str) -> None:
        digest = bytes(self.sight.current(request).digest)
        with self.step(f"take back {request.state}"):
            self.repeatable(
                "take back",
                lambda once: take_back(
                    self.world.person(who),
                    request_id=request.id,
                    digest=digest,
                    once=once,
                ),
                request.id,
                who,
            )

    @has("requests", "approved", "consumed")
    @rule(pick=PICK, who=SOMEBODY, seldom=SELDOM)
    def revoke(self, pick: int, who: str, seldom: bool) -> None:
        request = self.choose(self.requests("approved", "consumed"), pick)
        if request.state == "approved" and not seldom:
            return
        with self.step(f"revoke {request.state}"):
            revoke(self.world.person(who), request_id=request.id, reason="Stop.")

    @has("requests", "approved", "consumed")
    @rule(
        pick=PICK,
        who=SOMEBODY,
        uses=st.integers(1, 3),
        seconds=st.sampled_from([90, 3_600, 86_400]),
        open_amount=st.booleans(),
    )
    def agree_beforehand(
        self, pick: int, who: str, uses: int, seconds: int, open_amount: bool
    ) -> None:
        """Mostly whoever approved it; now and then somebody who did not."""
        request = self.choose(self.requests("approved", "consumed"), pick)
        amounts = Constraint("/amount", "one_of", {"values": list(AMOUNTS)})
        terms = Terms(
            seconds=seconds,
            uses=uses,
            bounded=[amounts] if open_amount else [],
            reason="As ever.",
        )
        with self.step("agree beforehand"):
            make_standing(self.world.person(who), request_id=request.id, terms=terms)

    @precondition(lambda self: bool(find(self.sight.standing, revoked_at=None)))
    @rule(pick=PICK, who=SOMEBODY)
    def end_what_stands(self, pick: int, who: str) -> None:
        one = self.choose(find(self.sight.standing, revoked_at=None), pick)
        with self.step("revoke a standing approval"):
            revoke_standing(
                self.world.person(who),
                standing_id=one.id,
                reason="No more.",
            )

    @precondition(lambda self: any(one.state in DOUBTED for one in self.sight.effects))
    @rule(pick=PICK, who=st.sampled_from(["erin", "bob", "charlie"]))
    def resolve(self, pick: int, who: str) -> None:
        """They look at the company's books, and tell the truth."""
        doubted = [one for one in self.sight.effects if one.state in DOUBTED]
        effect = self.choose(doubted, pick)
        tools = {tool.id: tool.name for tool in self.sight.tools}
        system = self.world.systems.get(tools[effect.tool_id])
        if system is not None:
            system.land()
        happened = system is None or bool(system.done[bytes(effect.key).hex()])
        outcome = "confirmed" if happened else "absent"
        with self.step(f"resolve {effect.state} as {outcome}"):
            resolve_effect(
                self.world.person(who),
                effect_id=effect.id,
                outcome=outcome,
                evidence="Seen in the books.",
            )

    @has("runs", "needs_attention")
    @rule(
        pick=PICK,
        act=st.sampled_from([release_run, release_run, abandon_run]),
        who=st.sampled_from(["erin", "erin", "bob", "charlie"]),
    )
    def look_after(self, pick: int, act: Any, who: str) -> None:
        run = self.choose(self.runs("needs_attention"), pick)
        with self.step(act.__name__):
            act(self.world.person(who), run_id=run.id, reason="I have looked.")
