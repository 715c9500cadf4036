"""A reviewer's arguments instead of the agent's: a new revision, judged anew."""

from typing import Any

from approvals.envelope import Envelope
from approvals.models import Decision, Request, Revision
from approvals.policy.obligation import Verdict
from approvals.problems import ARGUMENTS_UNCHANGED
from approvals.separation import Key, standing
from approvals.services.asking import (
    Scene,
    add_revision,
    apply_verdict,
    as_short_as,
    check_arguments,
    judge,
    riskier,
)
from approvals.services.case import Answer, Case, record_decision
from approvals.services.ending import dismiss_decisions
from approvals.services.granting import grant
from approvals.services.scene import scene_of
from checkpoints.models import Tool
from checkpoints.tools import ARGUMENTS_INVALID, check_typed
from kernel.canonical import digest
from kernel.problems import check_all
from kernel.strict_json import Json
from tenants.verbs import Verb

COMPARED = "keyturn/arguments/v1"


def edit(case: Case, answer: Answer) -> None:
    """Replace the arguments, dismiss earlier keys, ask policy again.

    The editor's own key counts only where the new obligation says so.
    """
    tool = Tool.objects.get(id=case.request.tool_id)
    _check(case, tool, answer.arguments)
    record_decision(case, answer)
    dismiss_decisions(case.verb, case.revision, "The arguments were edited.")
    revision = revise_in(
        case.verb,
        scene_of(case.request, case.now),
        case.request,
        tool,
        case.envelope,
        arguments=answer.arguments or {},
        author=case.person.actor,
        reason=answer.reason.strip(),
    )
    _turn_editors_key(case, revision, answer)


def _check(case: Case, tool: Tool, arguments: Any) -> None:
    if not isinstance(arguments, dict):
        raise ARGUMENTS_INVALID("An edit brings the whole arguments.", "/arguments")
    if same(arguments, case.envelope.action.arguments):
        raise ARGUMENTS_UNCHANGED("Approve them as they are instead.", "/arguments")
    check_edited(tool, arguments, case.envelope.action.arguments, pointer="/arguments")


def check_edited(tool: Tool, arguments: Any, before: Any, *, pointer: str) -> None:
    """Refuse what an agent's own arguments are refused for, and what a person wrote in
    another form than its schema names."""
    check_all(
        lambda: check_arguments(tool, arguments, pointer=pointer),
        lambda: check_typed(tool, arguments, before, pointer=pointer),
    )


def same(left: Json, right: Json) -> bool:
    """Equal as JSON; Python's own comparison takes true for 1."""
    return digest(COMPARED, left) == digest(COMPARED, right)


def revise_in(
    verb: Verb,
    scene: Scene,
    request: Request,
    tool: Tool,
    before: Envelope,
    *,
    arguments: dict[str, Any],
    author: Any,
    reason: str,
) -> Revision:
    """The next revision under the policies in force now, and what they decide."""
    action = before.action.with_arguments(arguments)
    risk = riskier(tool.risk, request.risk)
    owed = judge(scene, tool, arguments, action.target, risk)
    obligation = as_short_as(before.obligation, owed)
    revision = add_revision(
        verb, scene, request, tool, action, obligation, author=author, reason=reason
    )
    apply_verdict(verb, request, revision, scene.now)
    return revision


def _turn_editors_key(case: Case, revision: Revision, answer: Answer) -> None:
    """Where the obligation counts the editor, the edit is also their approval."""
    envelope = Envelope(bytes(revision.envelope))
    obligation = envelope.obligation
    if case.request.state != Request.State.PENDING:
        return
    if obligation.verdict is not Verdict.REQUIRE_REVIEW or not obligation.editor_counts:
        return
    now_stands = standing(case.request, revision, envelope, obligation)
    if not now_stands.counts(case.member.id):
        return
    turned = Case(
        verb=case.verb,
        person=case.person,
        member=case.member,
        request=case.request,
        revision=revision,
        envelope=envelope,
        standing=now_stands,
        rights=case.rights,
        now=case.now,
    )
    approval = Answer(
        verdict=Decision.Verdict.APPROVE, digest=envelope.digest, reason=answer.reason
    )
    record_decision(turned, approval)
    if now_stands.satisfied_by([Key(case.member.id)]):
        grant(case.verb, case.request, revision, envelope, case.now)
