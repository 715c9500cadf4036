"""The people and the agent of a throw-away tenant, made by the real services.

Alice owns the tenant and answers for its agent; Bob and Carol decide; Dave is a member
without any right. Nobody has a password.
"""

from dataclasses import dataclass
from typing import Any, Final, Self
from uuid import UUID

from approvals.asks import Ask
from approvals.models import Decision, Queue, Request, ResumeJob, Revision
from approvals.services.case import Answer
from approvals.services.decide import decide
from approvals.services.pause import pause_run
from approvals.services.policies import publish_policy
from approvals.services.queues import create_queue
from checkpoints.checkpoint import Position
from checkpoints.models import Effect, Tool
from checkpoints.services.tools import register_tool
from kernel.ids import new_id
from kernel.scope import tenant_transaction
from sessions.models import Run
from sessions.services.runs import start_run
from sessions.services.sessions import open_session
from tenants.checks import Operator
from tenants.models import Group, Member, Role, Tenant, User
from tenants.principal import Person, Principal
from tenants.scopes import SCOPES
from tenants.services import (
    Issued,
    add_member,
    add_to_group,
    add_user,
    create_agent,
    create_tenant,
    issue_key,
    stop_tenant,
)

ARGUMENTS: Final = {"payee": "Halden Paper Supply", "amount": "1240.00"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Human:
    """A user and their membership in the throw-away tenant."""

    user: User
    member: Member

    @property
    def person(self) -> Person:
        """As a browser session would prove them to be."""
        return Person(
            tenant_id=self.member.tenant_id,
            member_id=self.member.id,
            user_id=self.user.id,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """One throw-away tenant. Verbs are called as their doors call them."""

    tenant: Tenant
    reviewers: Group
    queue: Queue
    alice: Human
    bob: Human
    carol: Human
    dave: Human
    robot: Principal
    key: Issued

    @classmethod
    def build(cls, purpose: str) -> Self:
        """Found it; `purpose` becomes a part of its address."""
        word = new_id().hex[-10:]
        owner = _user("Alice", word)
        founded = create_tenant(
            slug=f"drill-{purpose[:40]}-{word}",
            name=f"Drill: {purpose}",
            owner_id=owner.id,
        )
        tenant_id, by = founded.tenant.id, founded.owner.id
        queue = create_queue(
            tenant_id=tenant_id,
            by=by,
            slug="drills",
            name="Drills",
            default=True,
            reviewers=founded.reviewers.id,
        )
        agent = create_agent(
            tenant_id=tenant_id, by=by, name="drill-agent", owners=[by]
        )
        key = issue_key(
            tenant_id=tenant_id,
            by=by,
            agent_id=agent.id,
            name="Drill",
            environment="test",
        )
        return cls(
            tenant=founded.tenant,
            reviewers=founded.reviewers,
            queue=queue,
            alice=Human(user=owner, member=founded.owner),
            bob=_join(tenant_id, by, "Bob", word, founded.reviewers),
            carol=_join(tenant_id, by, "Carol", word, founded.reviewers),
            dave=_join(tenant_id, by, "Dave", word, None),
            robot=Principal(
                tenant_id=tenant_id,
                agent_id=agent.id,
                key_id=key.key.id,
                environment="test",
                scopes=frozenset(SCOPES),
            ),
            key=key,
        )

    @property
    def id(self) -> UUID:
        return self.tenant.id

    @property
    def by(self) -> UUID:
        """The owner's member id, as verbs that change rights take it."""
        return self.alice.member.id

    def tool(
        self,
        definition: dict[str, Any],
        *,
        mode: str = "managed",
        name: str = "act",
        risk: str = "high",
    ) -> Tool:
        """Register a tool that acts on the outside world."""
        return register_tool(
            tenant_id=self.id,
            by=self.by,
            name=name,
            mode=mode,
            risk=risk,
            definition={"title": "Pay {amount} to {payee}", **definition},
        )

    def agent_tool(self, name: str = "act") -> Tool:
        """Register a tool that the agent itself carries out."""
        return self.tool({}, mode="agent", name=name)

    def policy(self, name: str = "review", **definition: Any) -> None:
        """Put a policy in force."""
        publish_policy(
            tenant_id=self.id,
            by=self.by,
            name=name,
            definition={"verdict": "require_review", **definition},
        )

    def run(self) -> Run:
        session = open_session(who=self.robot, subject="a drill")
        return start_run(who=self.robot, session_id=session.id)[0]

    def ask(self, run: Run | None = None, **asked: Any) -> Request:
        """Pause a run on one question."""
        return self.ask_all([asked], run)[0]

    def ask_all(
        self, asked: list[dict[str, Any]], run: Run | None = None, until: str = "all"
    ) -> list[Request]:
        """Pause a run on several questions."""
        run = self.fresh(run) if run else self.run()
        return pause_run(
            self.robot,
            run_id=run.id,
            fence=run.fence,
            position=Position(
                parent=run.head_number, schema_version=1, payload=b"{}", header={}
            ),
            asks=[Ask(**{"tool": "act", "arguments": ARGUMENTS, **a}) for a in asked],
            resume_when=until,
        )

    def approve(
        self, request: Request, by: Human | None = None, **said: Any
    ) -> Request:
        """Decide as the page would, for the digest that is on screen now."""
        said.setdefault("verdict", Decision.Verdict.APPROVE)
        said.setdefault("digest", self.digest(request))
        who = (by or self.bob).person
        return decide(who, request_id=request.id, answer=Answer(**said))

    def approved(self, run: Run | None = None, **asked: Any) -> Request:
        """Asked, and agreed to."""
        return self.approve(self.ask(run, **asked))

    def digest(self, request: Request) -> bytes:
        with tenant_transaction(self.id):
            number = Request.objects.get(id=request.id).revision
            found = Revision.objects.get(request_id=request.id, number=number)
            return bytes(found.digest)

    def fresh[M](self, row: M) -> M:
        """The row as it is now."""
        with tenant_transaction(self.id):
            return type(row).objects.get(pk=row.pk)  # type: ignore[attr-defined,no-any-return]

    def run_of(self, request: Request) -> Run:
        """The request's run as it is now."""
        with tenant_transaction(self.id):
            return Run.objects.get(id=request.run_id)

    def job(self, request: Request) -> ResumeJob:
        """The newest work that the request owes."""
        with tenant_transaction(self.id):
            return ResumeJob.objects.filter(request=request).latest("created_at")

    def effect(self, request: Request) -> Effect | None:
        """What the request has brought about, if it has."""
        with tenant_transaction(self.id):
            return Effect.objects.filter(request=request.id).first()

    def effect_state(self, request: Request) -> str:
        """One word for it; "none" if nothing was started."""
        effect = self.effect(request)
        return effect.state if effect else "none"

    def close(self) -> None:
        """Its keys work no more, and nothing is carried out in it any more."""
        stop_tenant(tenant_id=self.id, by=Operator.CONSOLE)


def _user(name: str, word: str) -> User:
    return add_user(email=f"{name.lower()}-{word}@drill.invalid", name=name)


def _join(
    tenant_id: UUID, by: UUID, name: str, word: str, group: Group | None
) -> Human:
    user = _user(name, word)
    role = Role.REVIEWER if group else Role.DEVELOPER
    member = add_member(tenant_id=tenant_id, by=by, user_id=user.id, role=role)
    if group is not None:
        add_to_group(tenant_id=tenant_id, by=by, group_id=group.id, member_id=member.id)
    return Human(user=user, member=member)
