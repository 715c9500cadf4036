"""A question that somebody answered beforehand. Steps inside a verb."""

from datetime import datetime

from approvals.beforehand import Question, candidates, doubt, not_permitted
from approvals.envelope import Envelope
from approvals.models import Decision, Request, Revision, StandingApproval
from approvals.separation import Key, Standing, standing
from approvals.services.granting import SYSTEM, grant
from approvals.services.recording import decision_facts
from checkpoints.models import Tool
from tenants.models import Member
from tenants.verbs import Verb


def answer_beforehand(
    verb: Verb, request: Request, revision: Revision, now: datetime
) -> None:
    """Approve a new question at once, where a standing approval covers it.

    Only as it was first asked: what a person had a hand in, or what was re-opened, a
    person sees. Nothing is used up by it: that happens when the action begins.
    """
    envelope = Envelope(bytes(revision.envelope))
    if "approve" not in request.allowed or envelope.obligation.beforehand is None:
        return
    found = candidates(request, envelope.record["requester"]["environment"])
    if not found:
        return
    tool = Tool.objects.get(id=request.tool_id)
    asked = Question(request=request, envelope=envelope, tool=tool, now=now)
    stands = standing(request, revision, envelope, envelope.obligation)
    for one in found:
        if _answers(one, asked, stands):
            _approve(verb, one, asked, revision, stands)
            return


def _answers(one: StandingApproval, asked: Question, stands: Standing) -> bool:
    """By its terms, by policy, and by a person whose key alone is enough now."""
    return (
        stands.satisfied_by([Key(one.author_id)])
        and not_permitted(one, [asked.envelope.obligation]) is None
        and doubt(one, asked) is None
    )


def _approve(
    verb: Verb,
    one: StandingApproval,
    asked: Question,
    revision: Revision,
    stands: Standing,
) -> None:
    request = asked.request
    decision = Decision.objects.create(
        tenant_id=request.tenant_id,
        request=request,
        revision=revision,
        member_id=one.author_id,
        standing=one,
        verdict=Decision.Verdict.APPROVE,
        digest=bytes(revision.digest),
        reason=one.reason,
        waived_solo=one.author_id in stands.waived,
    )
    author = Member.objects.get(id=one.author_id)
    verb.record(
        "decision.recorded",
        actor=SYSTEM,
        subject=("decision", decision.id),
        data={
            **decision_facts(decision, request, revision),
            "user": str(author.user_id),
            "waived_solo": decision.waived_solo,
        },
    )
    grant(verb, request, revision, asked.envelope, asked.now)
