"""Why, in a sentence or two: what was wanted, by whom, who agreed, what came of it."""

from collections.abc import Iterable, Mapping
from typing import Final
from uuid import UUID

from django.db.models import F

from approvals.delegations import decider
from approvals.envelope import Envelope
from approvals.models import Decision, Policy, Request, Revision
from approvals.pages.case.timeline import given_words
from approvals.pages.sealed import sealed_obligation
from approvals.policy import Obligation
from approvals.policy.obligation import Verdict
from approvals.presentation.marks import mark
from approvals.presentation.words import counted
from approvals.titles import has_title
from checkpoints.models import Effect
from oversight.presentation.policy_words import listed
from oversight.presentation.trace import Why
from sessions.models import Run

S = Request.State
MOST: Final = 4  # requests that are told so; each has a trace of its own
ENDED: Final = {
    S.PENDING: "It waits for an answer.",
    S.CHANGES_REQUESTED: "It waits for its agent.",
    S.APPROVED: "It has not happened yet.",
    S.CONSUMED: "The approval was used; nothing outside has confirmed it.",
    S.ANSWERED: "Its agent has the answer.",
    S.EXPIRED: "Nobody decided in time, so nothing came of it.",
    S.CANCELLED: "Its agent withdrew it, so nothing came of it.",
    S.REVOKED: "The approval was revoked, so nothing came of it.",
    S.LAPSED: "The approval was not used in time, so nothing came of it.",
}


def whys(run: Run, requests: list[Request]) -> tuple[Why, ...]:
    """Of the newest requests, the first one first; of requests with their tools."""
    told = requests[:MOST][::-1]
    owed, given, done = _owed(told), _given(told), _done(run, told)
    names = _names(owed.values())
    return tuple(
        Why(
            title=one.title,
            title_is_ours=has_title(one.tool.definition),
            agent=run.agent.name,
            served=run.session.served,
            policies=_policies(owed[one.id], names) if one.id in owed else "",
            answers=tuple(
                (f"{decider(row)} {given_words(row)}", row.created_at)
                for row in given.get(one.id, ())
            ),
            outcome=_outcome(one, done.get(one.id)),
            known_as=done[one.id].external_id if one.id in done else "",
        )
        for one in told
    )


def _owed(requests: list[Request]) -> dict[UUID, Obligation]:
    """What the sealed record of each wording says that is owed, if it can be read."""
    rows = Revision.objects.filter(
        request_id__in=[one.id for one in requests], number=F("request__revision")
    )
    read = {
        one.request_id: sealed_obligation(Envelope(bytes(one.envelope))) for one in rows
    }
    return {id: found for id, found in read.items() if found is not None}


def _given(requests: list[Request]) -> Mapping[UUID, list[Decision]]:
    """The answers that count, oldest first."""
    found: dict[UUID, list[Decision]] = {}
    rows = Decision.objects.filter(
        request_id__in=[one.id for one in requests], dismissed_at=None
    ).select_related("member", "on_behalf_of")
    for row in rows.order_by("created_at", "id"):
        found.setdefault(row.request_id, []).append(row)
    return found


def _done(run: Run, requests: list[Request]) -> Mapping[UUID, Effect]:
    rows = Effect.objects.filter(
        run_id=run.id, request__in=[one.id for one in requests]
    )
    return {one.request: one for one in rows.order_by("created_at", "id")}


def _names(owed: Iterable[Obligation]) -> Mapping[UUID, str]:
    ids = {id for one in owed for id, _, _ in one.policies}
    return dict(Policy.objects.filter(id__in=ids).values_list("id", "name"))


def _policies(owed: Obligation, names: Mapping[UUID, str]) -> str:
    """'large-payments and finance asked for 2 approvals'."""
    who = listed([names[id] for id, _, _ in owed.policies if id in names], "and")
    if owed.verdict is Verdict.ALLOW:
        return f"{who or 'no policy'} let it pass"
    needed = counted(owed.approvals_needed, "approval")
    return f"{who} asked for {needed}" if who else f"no policy named it: {needed}"


def _outcome(request: Request, effect: Effect | None) -> str:
    if effect is None:
        return ENDED.get(S(request.state), "Nothing came of it.")
    if effect.external_id:
        return "Outside it is known as"
    return f"What came of it: {mark('effect', effect.state).word.lower()}."
