"""Whether this person may give this answer to what was on their screen."""

from uuid import UUID

from approvals.envelope import Envelope
from approvals.models import Decision
from approvals.problems import (
    DIGEST_CHANGED,
    NO_RIGHT,
    NOT_ELIGIBLE,
    NOT_STANDING_IN,
    NOT_TOGETHER,
    OWN_REQUEST,
    REASON_NEEDED,
    REAUTHENTICATE,
    VERDICT_NOT_ALLOWED,
)
from approvals.services.case import Answer, Sight, delegation_of
from checkpoints.models import Risk, Tool
from checkpoints.secrets import PREFIX

V = Decision.Verdict


def judge_answer(case: Sight, answer: Answer) -> None:
    """Whether this person may give this answer to what was on their screen."""
    if "decide" not in case.rights:
        raise NO_RIGHT("You see this queue but do not decide on it.")
    if answer.digest != bytes(case.revision.digest):
        raise DIGEST_CHANGED("Read it again: what you answered is not what is asked.")
    if answer.verdict not in case.request.allowed:
        raise VERDICT_NOT_ALLOWED(f"{answer.verdict} is not offered.", "/verdict")
    _check_together(case, answer)
    _check_standing(case, answer.verdict)
    if answer.on_behalf_of is not None:
        _check_behalf(case, answer, answer.on_behalf_of)
    _check_demands(case, answer)


def _check_together(case: Sight, answer: Answer) -> None:
    """Only what is harmless in every respect is approved with others like it."""
    if answer.together is None or answer.verdict != V.APPROVE:
        return
    tool = Tool.objects.get(id=case.request.tool_id)
    if {case.request.risk, tool.risk} != {Risk.LOW}:
        raise NOT_TOGETHER("Its risk is not low.")
    if tool.name != answer.together:
        raise NOT_TOGETHER("It is about another tool than the others.")
    if names_secret(tool, case.envelope):
        raise NOT_TOGETHER("It uses a secret; its own page says which.")


def names_secret(tool: Tool, envelope: Envelope) -> bool:
    """Whether the call would use a secret, of its arguments' or of its tool's."""
    return PREFIX.encode() in envelope.content or PREFIX in str(tool.definition)


def _check_standing(case: Sight, verdict: Decision.Verdict) -> None:
    """Turning a key takes an eligible stranger to the request; refusing does not."""
    if verdict in {V.REJECT, V.REQUEST_CHANGES}:
        return
    if verdict == V.EDIT:
        if "edit_arguments" not in case.rights:
            raise NO_RIGHT("You may not edit arguments on this queue.")
        if case.member.id in _own_side(case):
            raise OWN_REQUEST("You are on the side that asks.")
        return
    if case.member.id in case.standing.excluded:
        raise OWN_REQUEST("You are on the side that asks.")
    if not case.standing.counts(case.member.id):
        raise NOT_ELIGIBLE("The policy asks for somebody else's key.")


def _check_behalf(case: Sight, answer: Answer, delegator: UUID) -> None:
    """It takes a delegation in force, and two people whom one rule would both count."""
    if answer.verdict == V.EDIT:
        raise NOT_STANDING_IN("An edit is one's own; nobody makes it for another.")
    if delegation_of(case, answer) is None:
        raise NOT_STANDING_IN("They have not named you, or not for now and here.")
    if case.standing.excluded & {case.member.id, delegator}:
        raise OWN_REQUEST("One of you is on the side that asks.")
    if not case.standing.counts(case.member.id, delegator):
        raise NOT_ELIGIBLE("No one key here could be turned by either of you.")


def _own_side(case: Sight) -> frozenset[UUID]:
    """Excluded people, except whoever is excluded only as the last editor."""
    if case.revision.author_type == "member":
        return case.standing.excluded - {case.revision.author_id}
    return case.standing.excluded


def _check_demands(case: Sight, answer: Answer) -> None:
    obligation = case.envelope.obligation
    always = obligation.reason == "always"
    refusing = answer.verdict in {V.REJECT, V.REQUEST_CHANGES}
    if not answer.reason.strip() and (
        always or (refusing and obligation.reason != "none")
    ):
        raise REASON_NEEDED("Say why; the agent and the auditor read it.", "/reason")
    fresh = obligation.reauthentication
    if fresh is not None and not _signed_in_within(case, fresh):
        raise REAUTHENTICATE(f"Your sign-in must be newer than {fresh} seconds.")


def _signed_in_within(case: Sight, seconds: int) -> bool:
    ago = case.person.authenticated_ago
    return ago is not None and ago <= seconds
