"""What followed from a question: answers, checks, effects, and what is known outside."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final
from uuid import UUID

from approvals.delegations import decider
from approvals.models import Decision, VerificationReport
from approvals.pages.addresses import address
from approvals.pages.case.timeline import given_words, standing_href
from approvals.presentation.marks import mark
from approvals.presentation.words import span
from checkpoints.models import Effect
from oversight.presentation.trace import Part

DOORS: Final = {
    "act": "before it acted",
    "ready": "before its agent was told",
    "redeem": "as its agent redeemed it",
    "wake": "before its agent was woken",
}


def decision_part(slug: str, row: Decision) -> Part:
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
        told=_proved(row),
        tone=tone,
        after=(_revision(row),),
    )


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


def report_part(
    slug: str, row: VerificationReport, given: Mapping[UUID, list[Decision]]
) -> Part:
    held = sum(bool(one.get("passed")) for one in row.checks)
    after = tuple(f"decision:{one.id}" for one in given.get(row.revision_id, ()))
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
    slug: str, effects: Iterable[Effect], reports: Iterable[VerificationReport]
) -> Iterator[Part]:
    """Each effect after the checks that let it happen, and what it is known as."""
    held: dict[UUID | None, list[str]] = {}
    for one in reports:
        if one.passed and one.door != "ready":
            held.setdefault(one.grant_id, []).append(f"report:{one.id}")
    for row in effects:
        yield _effect(slug, row, tuple(held.get(row.grant, ())))
        if row.external_id and row.ended_at:
            yield _outside(slug, row)


def _effect(slug: str, row: Effect, after: tuple[str, ...]) -> Part:
    found = mark("effect", row.state)
    return Part(
        key=f"effect:{row.request}",
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


def _outside(slug: str, row: Effect) -> Part:
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
        after=(f"effect:{row.request}",),
    )


def _revision(row: Decision | VerificationReport) -> str:
    """The key of the part that it is about; its row comes with `revision`."""
    return f"revision:{row.request_id}:{row.revision.number}"
