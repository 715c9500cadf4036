"""What a case has to say first: how it ended, or what the viewer has done so far."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from approvals.delegations import decider
from approvals.models import Decision, Request
from approvals.pages.case.asked import keys_of
from approvals.pages.case.outcome import refusal
from approvals.pages.case.record import CaseRecord
from approvals.pages.case.timeline import words_of
from approvals.presentation.shell import Notice
from approvals.presentation.words import counted, span
from checkpoints.models import Tool

S = Request.State
V = Decision.Verdict


def news_of(record: CaseRecord) -> Notice | None:
    """None where the page speaks for itself."""
    if not record.is_intact:
        return ALTERED
    told = NEWS.get(record.request.state)
    return told(record) if told else None


ALTERED: Final = Notice(
    title="What is stored is not what was asked",
    sentence="The sealed action was altered after it was asked. Nobody can decide on it, "
    "and nothing is sent. The audit log shows when it was last intact.",
    code="authority.digest_mismatch",
    tone="bad",
    icon="warn",
)


def _pending(record: CaseRecord) -> Notice | None:
    if not record.is_decidable:
        return Notice(
            title="The time to decide is over",
            sentence=f"{_nothing(record)}. Its agent is told within seconds.",
            icon="expired",
        )
    if record.mine is not None:
        return _own_answer(record, record.mine)
    if record.taken_back is not None:
        return _own_taken_back(record, record.taken_back)
    return _own_edit(record) if _is_own_edit(record) else None


def _is_own_edit(record: CaseRecord) -> bool:
    revision = record.revision
    return (revision.author_type, revision.author_id) == ("member", record.viewer.id)


def _own_edit(record: CaseRecord) -> Notice:
    return Notice(
        title=f"Your values are revision {record.revision.number}",
        sentence=f"{_nothing(record)}. It waits for {counted(_left(record), 'key')} from "
        f"others. {record.request.agent.name} is told.",
        icon="edit",
    )


def _left(record: CaseRecord) -> int:
    keys = keys_of(record)
    return keys.needed - keys.turned if keys else 0


def _own_answer(record: CaseRecord, mine: Decision) -> Notice:
    if mine.verdict == V.APPROVE:
        left = _left(record)
        kept = "Your values are kept and y" if _is_own_edit(record) else "Y"
        return Notice(
            title=f"{kept}our key is turned",
            sentence=f"{_nothing(record)}. It waits for {counted(left, 'more key')}."
            if left
            else f"{_nothing(record)} yet.",
            icon="key-turned",
        )
    return Notice(
        title="Your answer is recorded",
        sentence=f"{_nothing(record)}. The policy asks for more people to say so.",
        icon="check",
    )


def _own_taken_back(record: CaseRecord, gone: Decision) -> Notice:
    """Theirs, or the one of two that the other has taken back."""
    who, me = gone.taken_back_by_id, record.viewer.id
    whose = "your" if who == me else "this"
    return Notice(
        title=f"{'You' if who == me else record.name(who)} took {whose} answer back",
        sentence=f"{_nothing(record)}. The answer stays on record, and counts no more.",
        icon="undo",
    )


def _changes_requested(record: CaseRecord) -> Notice:
    due = record.request.due_at
    left = f" It expires in {span(due - record.now)}." if due else ""
    return Notice(
        title=f"{_by(record, V.REQUEST_CHANGES)} asked for changes",
        sentence=f"{_nothing(record)}. {record.request.agent.name} has been told and "
        f"answers with a new revision.{left}",
        icon="changes",
        said=_said(record, V.REQUEST_CHANGES),
    )


def _rejected(record: CaseRecord) -> Notice:
    by = _by(record, V.REJECT)
    return Notice(
        title=f"Rejected by {'policy' if by == 'Policy' else by}",
        sentence=f"{_nothing(record)}. {record.request.agent.name} is told.",
        icon="reject",
        said=_said(record, V.REJECT),
    )


def _answered(record: CaseRecord) -> Notice:
    return Notice(
        title=f"Answered by {_by(record, V.RESPOND)}",
        sentence="The action does not happen. The run continues with the answer.",
        icon="answer",
        said=_said(record, V.RESPOND),
    )


def _expired(record: CaseRecord) -> Notice:
    return Notice(
        title="Nobody decided in time",
        sentence=f"{_nothing(record)}, and nothing will be: time never approves.",
        icon="expired",
    )


def _cancelled(record: CaseRecord) -> Notice:
    stopped = record.ending is not None and record.ending.member is not None
    title = f"{'Stopped' if stopped else 'Withdrawn'}{_taken_back_by(record)}"
    return _with_why(
        record, Notice(title=title, sentence=_nothing(record), icon="close")
    )


def _superseded(record: CaseRecord) -> Notice:
    return Notice(title="Superseded", sentence="Nothing was sent.", icon="arrow")


def _revoked(record: CaseRecord) -> Notice | None:
    if refusal(record) is not None:
        return None
    title = f"The approval was revoked{_taken_back_by(record)}"
    sentence = f"{_nothing(record)}, and nothing will be"
    return _with_why(record, Notice(title=title, sentence=sentence, icon="undo"))


def _taken_back_by(record: CaseRecord) -> str:
    """' by Bob', or by the agent; nothing where it was by rule."""
    ending = record.ending
    if ending is None or ending.by not in {"member", "agent"}:
        return ""
    agent = record.request.agent.name
    return f" by {record.name(ending.member) if ending.member else agent}"


def _with_why(record: CaseRecord, notice: Notice) -> Notice:
    """In the words of whoever took it back, until they are erased; a rule's are ours."""
    erased = record.request.session.erased_at is not None
    why = "" if erased else record.request.resolution.removeprefix("Stopped: ")
    if record.ending is not None and record.ending.by == "system":
        return replace(notice, sentence=f"{notice.sentence}. {why}".strip())
    by_agent = record.ending is not None and record.ending.by == "agent"
    sentence = f"{notice.sentence}."
    return replace(notice, sentence=sentence, said=why, said_by_agent=by_agent)


def _lapsed(record: CaseRecord) -> Notice | None:
    if refusal(record) is not None:
        return None
    return Notice(
        title="The approval was not used in time",
        sentence=f"{_nothing(record)}, and nothing will be under it.",
        icon="expired",
    )


def _nothing(record: CaseRecord) -> str:
    """What did not happen: a tool of the agent's is never sent by us."""
    managed = record.request.tool.mode == Tool.Mode.MANAGED
    return "Nothing was sent" if managed else "Nothing was permitted"


def _by(record: CaseRecord, verdict: Decision.Verdict) -> str:
    """Who gave the verdict that ended it."""
    people = [decider(one) for one in record.counted if one.verdict == verdict]
    return " and ".join(people) or "Somebody"


def _said(record: CaseRecord, verdict: Decision.Verdict) -> str:
    """What they wrote who gave it, until it is erased."""
    if record.request.session.erased_at is not None:
        return ""
    words = (words_of(one) for one in record.counted if one.verdict == verdict)
    return "\n\n".join(filter(None, words))


NEWS: Final[Mapping[str, Callable[[CaseRecord], Notice | None]]] = {
    S.PENDING: _pending,
    S.CHANGES_REQUESTED: _changes_requested,
    S.REJECTED: _rejected,
    S.ANSWERED: _answered,
    S.EXPIRED: _expired,
    S.CANCELLED: _cancelled,
    S.SUPERSEDED: _superseded,
    S.REVOKED: _revoked,
    S.LAPSED: _lapsed,
}
