"""Making a revision of a request: judged by policy, sealed, routed. Steps in a verb."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from approvals.access import owners_since
from approvals.asks import Ask
from approvals.envelope import Action, Asking, Envelope, seal
from approvals.judging import judge_action
from approvals.models import Context, Decision, Pause, Request, Revision
from approvals.policy import Obligation
from approvals.policy.obligation import Verdict
from approvals.problems import (
    TOOL_CALL_REPEATED,
    TOOL_DISABLED,
)
from approvals.queries import queue_for
from approvals.services.beforehand import answer_beforehand
from approvals.services.contexts import named_context
from approvals.services.granting import grant, move_request
from approvals.services.recording import record_policy_decision
from approvals.titles import title_of
from approvals.watching import watch
from audit.append import Actor
from checkpoints.models import Checkpoint, Risk, Tool
from checkpoints.secrets import refuse_unusable, refuse_unusable_headers
from checkpoints.tools import ARGUMENTS_INVALID
from checkpoints.tools import check_arguments as check_schema_of
from kernel.canonical import canonical_bytes
from kernel.ids import new_id
from kernel.secrets import refuse_secret
from sessions.models import Run, Session
from sessions.redaction import redacted_text
from tenants.models import ApiKey
from tenants.verbs import Verb

MOST_ARGUMENT_BYTES: Final = 256 * 1024
RISKS: Final = list(Risk.values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """The locked rows and the time that every question of one pause shares."""

    session: Session
    run: Run
    checkpoint: Checkpoint
    pause: Pause
    key: ApiKey
    now: datetime

    @property
    def tenant_id(self) -> UUID:
        return self.run.tenant_id

    def asking(self) -> Asking:
        return Asking(
            session=self.session,
            run=self.run,
            checkpoint=self.checkpoint,
            pause=self.pause.id,
            key=self.key,
            owners=tuple(sorted(owners_since(self.key.agent_id, self.now))),
        )


def ask_one(verb: Verb, scene: Scene, ask: Ask, *, place: str) -> Request:
    """Put one question: request, first revision, and what policy says at once.

    Raises `arguments_invalid`, `secret_in_arguments`, `tool_disabled`,
    `tool_call_repeated`; pointers are below `place`.
    """
    tool = Tool.objects.get(name=ask.tool)
    _check(tool, ask, place)
    _refuse_repeated(scene.run, ask, place)
    context = named_context(scene.run.id, ask.context, f"{place}/context")
    risk = riskier(tool.risk, ask.risk or "low")
    obligation = judge(scene, tool, ask.arguments, ask.target, risk)
    obligation = _shorten(obligation, ask)
    request = _create(scene, tool, ask, risk, obligation, context)
    action = _action(ask)
    revision = add_revision(
        verb, scene, request, tool, action, obligation, author=agent_of(scene)
    )
    apply_verdict(verb, request, revision, scene.now)
    if obligation.verdict is Verdict.REQUIRE_REVIEW:
        answer_beforehand(verb, request, revision, scene.now)
    return request


def riskier(one: str, other: str) -> str:
    """The tool's own risk counts; whoever else states one may raise it only."""
    return max(one, other, key=RISKS.index)


def agent_of(scene: Scene) -> Actor:
    return Actor(type="agent", id=scene.key.agent_id)


def _action(ask: Ask) -> Action:
    return Action(
        tool=ask.tool,
        arguments=dict(ask.arguments),
        target=ask.target,
        preconditions=ask.preconditions,
    )


def _check(tool: Tool, ask: Ask, place: str) -> None:
    if not tool.enabled:
        raise TOOL_DISABLED(f"{tool.name} is switched off.", f"{place}/tool")
    check_arguments(tool, dict(ask.arguments), pointer=f"{place}/arguments")
    refuse_unusable_headers(tool, pointer=f"{place}/tool")
    refuse_secret(ask.target, f"{place}/target")
    refuse_secret(list(ask.preconditions), f"{place}/preconditions")


def check_arguments(tool: Tool, arguments: dict[str, Any], *, pointer: str) -> None:
    """Refuse arguments that are too large, do not fit, hold a secret, or name one that
    the tool may not use."""
    size = len(canonical_bytes(arguments))
    if size > MOST_ARGUMENT_BYTES:
        raise ARGUMENTS_INVALID(
            f"{size} bytes; at most {MOST_ARGUMENT_BYTES}.", pointer
        )
    check_schema_of(tool, arguments, pointer=pointer)
    refuse_secret(arguments, pointer)
    refuse_unusable(tool, arguments, pointer=pointer)


def without_secrets(text: str, tenant_id: UUID) -> str:
    """An agent's own words are kept, except for credentials in them."""
    return redacted_text(text, tenant_id)


def _refuse_repeated(run: Run, ask: Ask, place: str) -> None:
    if ask.tool_call_id is None:
        return
    if Request.objects.filter(run=run, tool_call_id=ask.tool_call_id).exists():
        raise TOOL_CALL_REPEATED(
            "Read its answer instead of asking again.", f"{place}/tool_call_id"
        )


def judge(
    scene: Scene, tool: Tool, arguments: Any, target: Any, risk: str
) -> Obligation:
    """What the policies in force owe for this action, on the run's facts."""
    return judge_action(
        tool=tool.name,
        arguments=dict(arguments),
        target=target,
        risk=risk,
        key=scene.key,
        agent=scene.key.agent,
        session=scene.session,
        run=scene.run,
    )


def _shorten(obligation: Obligation, ask: Ask) -> Obligation:
    """An agent may ask for less time than policy gives, never for more."""
    return replace(
        obligation,
        decide_within=min(obligation.decide_within, ask.decide_within or 10**9),
        use_within=min(obligation.use_within, ask.use_within or 10**9),
    )


def as_short_as(before: Obligation, obligation: Obligation) -> Obligation:
    """A later revision never gives more time than the first: it may be the agent's."""
    return replace(
        obligation,
        decide_within=min(obligation.decide_within, before.decide_within),
        use_within=min(obligation.use_within, before.use_within),
    )


def _create(
    scene: Scene,
    tool: Tool,
    ask: Ask,
    risk: str,
    obligation: Obligation,
    context: Context | None,
) -> Request:
    return Request.objects.create(
        id=new_id(),
        tenant_id=scene.tenant_id,
        pause=scene.pause,
        run=scene.run,
        session=scene.session,
        agent_id=scene.key.agent_id,
        key=scene.key,
        tool=tool,
        queue=queue_for(obligation.queue),
        tool_call_id=ask.tool_call_id,
        context=context,
        revision=0,
        risk=risk,
        title=title_of(tool.definition, tool.name, dict(ask.arguments)),
        explanation=without_secrets(ask.explanation, scene.tenant_id),
        allowed=list(ask.allowed),
        response_schema=ask.response_schema,
    )


def add_revision(
    verb: Verb,
    scene: Scene,
    request: Request,
    tool: Tool,
    action: Action,
    obligation: Obligation,
    *,
    author: Actor,
    reason: str = "",
) -> Revision:
    """The next immutable wording, under the given obligation; the request pends."""
    decide_by = scene.now + timedelta(seconds=obligation.decide_within)
    number = request.revision + 1
    envelope, digest = seal(
        asking=scene.asking(),
        request=request.id,
        revision=number,
        tool=tool,
        action=action,
        obligation=obligation,
        decide_by=decide_by,
    )
    queue = queue_for(obligation.queue)
    revision = Revision.objects.create(
        tenant_id=scene.tenant_id,
        request=request,
        number=number,
        envelope=envelope,
        digest=digest,
        author_type=author.type,
        author_id=author.id if isinstance(author.id, UUID) else None,
        reason=reason,
    )
    move_request(
        request,
        Request.State.PENDING,
        revision=number,
        due_at=decide_by,
        decided_at=None,
        risk=riskier(tool.risk, request.risk),
        queue_id=queue.id,
        title=title_of(tool.definition, tool.name, action.arguments),
    )
    watch(queue, request, number, scene.now)
    _record_revision(verb, request, revision, author)
    return revision


def _record_revision(
    verb: Verb, request: Request, revision: Revision, author: Actor
) -> None:
    verb.record(
        "request.asked" if revision.number == 1 else "request.revised",
        actor=author,
        subject=("request", request.id),
        data={
            "run": str(request.run_id),
            "revision": revision.number,
            "digest": bytes(revision.digest).hex(),
            "reason": revision.reason,
            "queue": str(request.queue_id),
            **_seen(request),
        },
    )
    verb.changed(request.id, request.run_id, request.queue_id)


def _seen(request: Request) -> dict[str, str]:
    """The context that the agent says its model saw: signed, so that it stays so."""
    context = request.context
    return {"context": bytes(context.digest).hex()} if context else {}


def apply_verdict(
    verb: Verb, request: Request, revision: Revision, now: datetime
) -> None:
    """What policy alone decides: it may refuse, or let through; else people decide."""
    envelope = Envelope(bytes(revision.envelope))
    verdict = envelope.obligation.verdict
    if verdict is Verdict.REQUIRE_REVIEW:
        return
    approved = verdict is Verdict.ALLOW
    answer = Decision.Verdict.APPROVE if approved else Decision.Verdict.REJECT
    record_policy_decision(verb, request, revision, answer)
    if approved:
        grant(verb, request, revision, envelope, now)
        return
    move_request(
        request,
        Request.State.REJECTED,
        decided_at=now,
        due_at=None,
        resolution="Refused by policy.",
    )
