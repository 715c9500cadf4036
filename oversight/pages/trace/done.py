"""What followed from a question: answers, checks, effects, and what is known outside."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final
from uuid import UUID

from approvals.access import holders
from approvals.delegations import decider
from approvals.glass import RIGHT
from approvals.models import Decision, Grant, Request, VerificationReport
from approvals.pages.addresses import address
from approvals.pages.attempts import evidence_words
from approvals.pages.case.timeline import given_words, standing_href
from approvals.presentation.marks import mark
from approvals.presentation.words import span
from checkpoints.models import Attempt, Effect
from oversight.presentation.trace import Part

type Holding = Mapping[tuple[UUID, str], frozenset[UUID]]
"""By request and right, who holds it on the request's queue now."""

DOORS: Final = {
    "act": "before it acted",
    "ready": "before its agent was told",
    "redeem": "as its agent redeemed it",
    "wake": "before its agent was woken",
}


def holding_now(requests: Iterable[Request], decisions: Iterable[Decision]) -> Holding:
    """Who holds, today, the right that each of these answers took."""
    asked = {one.id: one for one in requests}
    wanted = {(one.request_id, _right(one)) for one in decisions}
    of = {each: asked[each[0]] for each in wanted}
    held = {
        (queue, right): holders(tenant_id=tenant, queue_id=queue, permission=right)
        for tenant, queue, right in {
            (one.tenant_id, one.queue_id, right) for (_, right), one in of.items()
        }
    }
    return {each: held[one.queue_id, each[1]] for each, one in of.items()}


def decision_part(slug: str, row: Decision, holding: Holding) -> Part:
    found = mark("verdict", row.verdict)
    tone = "bad" if found.tone == "bad" else "" if row.dismissed_at else "key"
    return Part(
        key=f"decision:{row.id}",
        lane="People",
        at=row.created_at,
        icon=found.icon,
        label=decider(row),
        note=given_words(row),
        href=standing_href(slug, row) or address("case", slug, row.request_id),
        told=f"{_proved(row)}{_rights(row, holding)}",
        tone=tone,
        after=(_revision(row),),
    )


def _right(row: Decision) -> str:
    return RIGHT if row.broke_glass else "decide"


def _rights(row: Decision, holding: Holding) -> str:
    """No answer is recorded of whoever does not hold the right at that time."""
    people = frozenset(filter(None, (row.member_id, row.on_behalf_of_id)))
    if not people:
        return ""
    now = people <= holding.get((row.request_id, _right(row)), frozenset())
    may = "break the glass" if row.broke_glass else "decide"
    whose = "They both held" if len(people) > 1 else "Held"
    kept = "still held now" if now else "no longer held now"
    return f" {whose} the right to {may} on its queue then; {kept}."


def _proved(row: Decision) -> str:
    """How the person proved who they were, and whether the answer still counts."""
    said = row.authentication
    methods = ", ".join(map(str, said.get("methods", ()))) or "an open session"
    ago = said.get("authenticated_ago")
    since = f", {float(ago):.0f} s before" if isinstance(ago, (int, float)) else ""
    counts = f" It no longer counts: {row.dismissed_reason}" if row.dismissed_at else ""
    who = f"Signed in with {methods}{since}." if row.member_id else "By rule alone."
    if row.standing_id:
        who = f"Beforehand, by the standing approval {row.standing_id}."
    return f"For digest {bytes(row.digest).hex()}. {who}{counts}"


def counting_answers(decisions: Iterable[Decision]) -> Mapping[UUID, list[Decision]]:
    """Those that still count, by revision."""
    found: dict[UUID, list[Decision]] = {}
    for row in decisions:
        if row.dismissed_at is None:
            found.setdefault(row.revision_id, []).append(row)
    return found


def grant_part(slug: str, row: Grant, given: Mapping[UUID, list[Decision]]) -> Part:
    """The authority that the answers came to, and what became of it."""
    after = tuple(f"decision:{one.id}" for one in given.get(row.revision_id, ()))
    ended = row.state in {Grant.State.REVOKED, Grant.State.LAPSED}
    said = f" {row.reason}" if row.reason else ""
    return Part(
        key=f"grant:{row.id}",
        lane="People",
        at=row.created_at,
        icon="permit",
        label="Grant",
        note=row.state,
        href=address("case", slug, row.request_id),
        told=f"For one use of digest {bytes(row.digest).hex()}: {row.state}.{said}",
        tone="bad" if ended else "key",
        after=after or (_revision(row),),
    )


def report_part(
    slug: str, row: VerificationReport, given: Mapping[UUID, list[Decision]]
) -> Part:
    held = sum(bool(one.get("passed")) for one in row.checks)
    after = tuple(f"decision:{one.id}" for one in given.get(row.revision_id, ()))
    after = (f"grant:{row.grant_id}",) if row.grant_id else after
    return Part(
        key=f"report:{row.id}",
        lane="Checks",
        at=row.created_at,
        icon="policy-pass" if row.passed else "fail",
        label=f"{held} of {len(row.checks)} checks" if row.passed else row.code,
        note="held" if row.passed else "refused",
        href=address("case", slug, row.request_id),
        told=f"Asked {DOORS.get(row.door, row.door)}. {row.reason or 'All held.'}",
        tone="key" if row.passed else "bad",
        after=after or (_revision(row),),
    )


def effect_parts(
    slug: str,
    effects: Iterable[Effect],
    reports: Iterable[VerificationReport],
    tries: Iterable[Attempt],
) -> Iterator[Part]:
    """Each effect after the checks that let it happen, and what it is known as."""
    last = {one.effect_id: one.id for one in sorted(tries, key=lambda one: one.number)}
    held: dict[UUID | None, list[str]] = {}
    for one in reports:
        if one.passed and one.door != "ready":
            held.setdefault(one.grant_id, []).append(f"report:{one.id}")
    for row in effects:
        yield _effect(slug, row, tuple(held.get(row.grant, ())))
        if row.external_id and row.ended_at:
            after = f"attempt:{last[row.id]}" if row.id in last else _known(row)
            yield _outside(slug, row, after)


def attempt_parts(
    slug: str, effects: Iterable[Effect], tries: Iterable[Attempt]
) -> Iterator[Part]:
    """Each try after the one before it."""
    of, before = {one.id: one for one in effects}, dict[UUID, str]()
    for row in sorted(tries, key=lambda one: one.number):
        effect = of[row.effect_id]
        yield _attempt(slug, row, effect, before.get(effect.id, _known(effect)))
        before[effect.id] = f"attempt:{row.id}"


def _attempt(slug: str, row: Attempt, effect: Effect, after: str) -> Part:
    outcome = row.outcome or "under way"
    seen = f" {evidence_words(row.evidence)}." if row.ended_at else ""
    return Part(
        key=f"attempt:{row.id}",
        lane="Outside",
        at=row.created_at,
        icon="arrow",
        label=f"Attempt {row.number}",
        note=outcome,
        href=address("case", slug, effect.request),
        told=f"By writer {row.fence} of the run: {outcome}.{seen}",
        tone="bad" if row.outcome == "failed" else "key",
        after=(after,),
    )


def _known(row: Effect) -> str:
    return f"effect:{row.request}"


def _effect(slug: str, row: Effect, after: tuple[str, ...]) -> Part:
    found = mark("effect", row.state)
    return Part(
        key=_known(row),
        lane="Outside",
        at=row.created_at,
        icon="effect",
        label=row.tool.name,
        note=f"{found.word.lower()}, {_tries(row.attempt)}",
        href=address("case", slug, row.request),
        told=f"Sent under key {bytes(row.key).hex()}, {_tries(row.attempt)}.",
        tone="bad" if found.tone == "bad" else "key",
        after=after,
    )


def _tries(count: int) -> str:
    return f"{count} attempt{'s' if count != 1 else ''}"


def _outside(slug: str, row: Effect, after: str) -> Part:
    assert row.ended_at is not None
    return Part(
        key=f"outside:{row.id}",
        lane="Outside",
        at=row.ended_at,
        icon="external",
        label=row.external_id,
        note=mark("effect", row.state).word.lower(),
        href=address("case", slug, row.request),
        told=f"{row.tool.name} answered with this id after "
        f"{span(row.ended_at - row.created_at)}.",
        tone="ok" if row.state == Effect.State.CONFIRMED else "",
        after=(after,),
    )


def _revision(row: Decision | Grant | VerificationReport) -> str:
    """The key of the part that it is about; its row comes with `revision`."""
    return f"revision:{row.request_id}:{row.revision.number}"
