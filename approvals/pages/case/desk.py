"""The decision bar: which answers this person can give, and what each would do."""

from collections.abc import Mapping, Sequence
from typing import Final

from approvals.models import Decision, Request
from approvals.pages.addresses import address
from approvals.pages.case.asked import keys_of
from approvals.pages.case.record import CaseRecord
from approvals.pages.selection import Selection
from approvals.presentation.arguments import Money
from approvals.presentation.case import ChangeRow, Changes, Keys
from approvals.presentation.controls import reply_controls
from approvals.presentation.desk import (
    NOT_OFFERED,
    VERDICTS,
    Desk,
    RecapRow,
    SheetState,
)
from approvals.presentation.edit import Control
from approvals.presentation.leave import Pick
from approvals.presentation.proof import Proof
from approvals.presentation.reading import filled
from approvals.problems import (
    OWN_REQUEST,
    REASON_NEEDED,
    REAUTHENTICATE,
    VERDICT_NOT_ALLOWED,
)
from approvals.separation import Standing
from approvals.services.case import Answer, Sight
from approvals.services.judging import judge_answer
from kernel.problems import Problem

S = Request.State

# What people say most often; a tool's definition may name its own instead.
REASONS: Final = (
    "Too little shows that this is right.",
    "It would go to the wrong place.",
    "The amount is wrong.",
    "It has been done already.",
    "Not now.",
)
# What the form itself asks for is no reason to withhold the form.
ASKED_FOR: Final = frozenset({REASON_NEEDED.code, REAUTHENTICATE.code})


def desk_of(
    record: CaseRecord,
    selection: Selection,
    recap: tuple[RecapRow, ...],
    form: SheetState | None = None,
) -> Desk | None:
    """None once nothing can be decided. `form` is one that came back."""
    stands, keys = record.standing, keys_of(record)
    if not record.is_decidable or stands is None:
        return None
    blocked = blocked_answers(record)
    obligation = stands.obligation
    kept = form if form and form.verdict not in blocked else None
    return Desk(
        href=_way(record, selection, "decide"),
        edit_href=_way(record, selection, "edit"),
        ahead=_ahead(record, selection, keys),
        digest=bytes(record.revision.digest).hex(),
        agent=record.request.agent.name,
        mode=record.request.tool.mode,
        turned=keys.turned if keys else 0,
        needed=keys.needed if keys else 1,
        recap=recap,
        blocked=blocked,
        reason=obligation.reason.value,
        reasons=tuple(record.request.tool.definition.get("reasons", REASONS)),
        reauthentication=asks_who(record),
        dismisses=_dismissed_by_change(record),
        reply=_reply(record, kept),
        behalf=_behalf(record, stands, kept),
        form=kept,
        closed=_closed(blocked),
        take_back_href=_take_back_href(record, selection),
    )


def _way(record: CaseRecord, selection: Selection, name: str, **more: str) -> str:
    query = {**selection.query, **more}
    return address(name, record.slug, record.request.id, query=query)


def _ahead(
    record: CaseRecord, selection: Selection, keys: Keys | None
) -> Mapping[str, str]:
    """Where what follows is drawn, by the answer that leads there."""
    last = keys is None or keys.turned + 1 >= keys.needed
    becomes = {"approve": S.APPROVED if last else S.PENDING, "reject": S.REJECTED}
    return {
        verdict: _way(record, selection, "ahead", becomes=state)
        for verdict, state in becomes.items()
    }


def blocked_answers(record: CaseRecord) -> Mapping[str, str]:
    """Why an answer cannot be given, asked of the very judge that will be asked then."""
    if record.mine is not None:
        said = "You have answered this revision already."
        return dict.fromkeys(VERDICTS, said)
    found = {verdict: _blocked(record, verdict) for verdict in VERDICTS}
    return {verdict: why for verdict, why in found.items() if why}


def _closed(blocked: Mapping[str, str]) -> str:
    """Why no answer can be given; of several reasons, the one about the person."""
    if any(verdict not in blocked for verdict in VERDICTS):
        return ""
    return next((why for why in blocked.values() if why != NOT_OFFERED), NOT_OFFERED)


def _take_back_href(record: CaseRecord, selection: Selection) -> str:
    """For whoever has answered, as long as it waits for others."""
    if record.mine is None:
        return ""
    return address("take_back", record.slug, record.request.id, query=selection.query)


def _blocked(record: CaseRecord, verdict: str) -> str:
    digest = bytes(record.revision.digest)
    answer = Answer(verdict=Decision.Verdict(verdict), digest=digest, reason="given")
    try:
        judge_answer(sight_of(record), answer)
    except Problem as problem:
        return _why(record, problem)
    return ""


def sight_of(record: CaseRecord) -> Sight:
    """The viewer before the revision that is asked now, as the judges want it."""
    assert record.standing is not None
    return Sight(
        person=record.viewer.person,
        member=record.viewer.member,
        request=record.request,
        revision=record.revision,
        envelope=record.envelope,
        standing=record.standing,
        rights=record.rights,
        now=record.now,
    )


def _why(record: CaseRecord, problem: Problem) -> str:
    if problem.code in ASKED_FOR:
        return ""
    if problem.code == VERDICT_NOT_ALLOWED.code:
        return NOT_OFFERED
    reason = record.asking_side.get(record.viewer.id)
    if problem.code == OWN_REQUEST.code and reason:
        said = reason.strip(",").replace("answers", "answer", 1)
        return f"You {said}: the key must be somebody else’s."
    return problem.detail


def _behalf(
    record: CaseRecord, stands: Standing, form: SheetState | None
) -> tuple[Pick, ...]:
    """In whose name it can be given; the verb judges it again.

    As oneself, unless it is the other who has said that they are on it.
    """
    answered = {one.member_id for one in record.counted}
    answered |= {one.on_behalf_of_id for one in record.counted}
    me = record.viewer.id
    found = {
        one.delegator_id: record.name(one.delegator_id)
        for one in record.leaves
        if one.delegate_id == me and stands.counts(me, one.delegator_id)
    }
    others = {str(id): name for id, name in found.items() if id not in answered}
    if not others:
        return ()
    taken = str(record.request.taken_by_id)
    given = form.values.get("on_behalf_of", "") if form else taken
    chosen = given if given in others else ""
    named = {"": "As myself", **{id: f"For {name}" for id, name in others.items()}}
    return tuple(
        Pick(value=value, text=text, chosen=value == chosen)
        for value, text in named.items()
    )


def asks_who(record: CaseRecord) -> Proof | None:
    """How to prove it, where the policy wants a sign-in newer than this person's."""
    fresh = record.obligation.reauthentication if record.obligation else None
    ago = record.viewer.person.authenticated_ago
    if fresh is None or (ago is not None and ago <= fresh):
        return None
    return proof_of(record)


def proof_of(record: CaseRecord) -> Proof:
    """By the second factor, for whoever has one, or by the provider they came by."""
    person = record.viewer.person
    if person.identity is not None:
        return Proof(field="", elsewhere="provider")
    if not person.factors:
        return Proof(field="password")
    return Proof(
        field="code" if "totp" in person.factors else "",
        elsewhere="passkey" if "webauthn" in person.factors else "",
    )


def _dismissed_by_change(record: CaseRecord) -> tuple[str, ...]:
    """Whose keys no longer count after a rejection or a change."""
    approve = Decision.Verdict.APPROVE
    approvals = (one for one in record.counted if one.verdict == approve)
    return tuple(record.name(one.member_id) for one in approvals if one.member_id)


def _reply(record: CaseRecord, form: SheetState | None) -> tuple[Control, ...]:
    """Controls for what the agent asked to be answered; none: one plain text."""
    schema = record.request.response_schema
    asked = reply_controls(schema) if schema else []
    if form and form.verdict == Decision.Verdict.RESPOND:
        return filled(asked, form.values, form.errors)
    return tuple(asked)


def recap_of(
    record: CaseRecord, *, tool: str, target: str, money: Money | None, count: str
) -> tuple[RecapRow, ...]:
    """What an approval repeats before the key turns: the exact action in short."""
    rows = [RecapRow(label="Runs", text=tool, exact=True)]
    if target:
        rows.append(RecapRow(label="Target", text=target, exact=True))
    if money:
        amount = f"{money.currency} {money.amount}"
        rows.append(RecapRow(label=money.name, text=amount, exact=True))
    rows.append(RecapRow(label="With", text=count))
    served = record.request.session.served
    if not served:
        return tuple(rows)
    return (*rows, RecapRow(label="For", text=served, theirs=True))


MOST_CHANGES: Final = 4
LONGEST_CHANGE: Final = 200  # characters; a longer one is read in the frame


def recap_of_changes(found: Sequence[Changes]) -> tuple[RecapRow, ...]:
    """What somebody else than whoever asked first may have written, value by value."""
    rows = [row for one in found for row in one.rows]
    shown = tuple(map(_change, rows[:MOST_CHANGES]))
    more = len(rows) - len(shown)
    rest = (RecapRow(label="Changed", text=f"and {more} more"),) if more else ()
    return shown + rest


def _change(row: ChangeRow) -> RecapRow:
    name = row.pointer.removeprefix("/arguments/").removeprefix("/")
    if row.after is None:
        return RecapRow(label="Taken out", text=name, exact=True)
    if len(row.after) > LONGEST_CHANGE:
        size = f"{name}, {len(row.after):,} characters"
        return RecapRow(label="Changed", text=size, exact=True)
    return RecapRow(label="Changed", text=f"{name}: {row.after}", exact=True)
