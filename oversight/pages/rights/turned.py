"""Whose keys had turned by a time, and who could have turned what was left."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from approvals.checks.evidence import DECIDED, TAKEN_BACK
from approvals.models import Decision, Revision
from approvals.separation import Key, Standing
from audit.evidence import signed_entries
from oversight.pages.rights.case import Owed
from oversight.presentation.policy_words import listed

GONE: Final = frozenset({"decision.dismissed", TAKEN_BACK})
TURNS: Final = frozenset({Decision.Verdict.APPROVE, Decision.Verdict.EDIT})

type Names = Callable[[Iterable[UUID]], list[str]]


def turned_by(revision: Revision, at: datetime) -> tuple[Key, ...]:
    """The approvals of that wording that counted then, as they were signed."""
    given = Decision.objects.filter(revision_id=revision.id)
    said = signed_entries(
        revision.tenant_id,
        kinds=[DECIDED, *GONE],
        subjects=given.values_list("id", flat=True),
    )
    before = [one for one in said if one.at <= at]
    gone = {one.subject for one in before if one.kind in GONE}
    return tuple(
        Key(UUID(one.data["member"]), _id(one.data.get("on_behalf_of")))
        for one in before
        if one.subject not in gone
        and one.data.get("verdict") in TURNS
        and one.data["member"]
    )


def _id(text: str | None) -> UUID | None:
    return UUID(text) if text else None


def keys_told(owed: Owed, keys: Sequence[Key], names: Names) -> str:
    """Who could have turned which key, in a sentence or two."""
    stands = Standing(
        obligation=owed.obligation,
        eligible={one.rule: one.people for one in owed.rules},
        excluded=owed.excluded,
        waived=frozenset(),
    )
    turned = [person for _, person in stands.seats(keys) if person]
    others = [Key(person) for person in sorted(owed.people - set(turned))]
    said = _left(stands, keys, others, turned, names) if turned else _all(owed, names)
    short = stands.missing_with([*keys, *others])
    return f"{said} {_nobodys(short)}" if short else said


def _all(owed: Owed, names: Names) -> str:
    if owed.obligation.approvals_needed == 1:
        return f"{', '.join(names(owed.people))} could have."
    each = [f"{one.rule.approvals} of {_any(one.people, names)}" for one in owed.rules]
    needed = owed.obligation.approvals_needed
    return f"{needed} keys were needed: {listed(each, 'and')}."


def _left(
    stands: Standing,
    keys: Sequence[Key],
    others: Sequence[Key],
    turned: Sequence[UUID],
    names: Names,
) -> str:
    left = stands.missing_with(keys)
    able = [one for one in others if stands.missing_with([*keys, one]) < left]
    whose = listed(names(turned), "and")
    done = f"{whose} had turned {'a key' if len(turned) == 1 else 'keys'}"
    if not left:
        return f"{done}, and no more was needed."
    who = _any([one.person for one in able], names)
    return f"{done}; {left} more {_were(left)} needed, of {who}."


def _any(people: Iterable[UUID], names: Names) -> str:
    return listed(names(people), "or") or "nobody"


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


def _nobodys(count: int) -> str:
    return f"{count} of them could have been turned by nobody."
