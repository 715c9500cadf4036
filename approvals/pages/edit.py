"""The edit page: controls, then the comparison, and what the edit costs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

import rfc8785

from approvals.judging import judge_action
from approvals.models import Decision, Revision
from approvals.pages.addresses import address, short_name
from approvals.pages.case.asked import group_names, label_of
from approvals.pages.case.desk import asks_who
from approvals.pages.case.record import CaseRecord
from approvals.pages.selection import Selection
from approvals.policy import Obligation
from approvals.policy.obligation import Verdict
from approvals.presentation.arguments import argument_tree
from approvals.presentation.controls import controls
from approvals.presentation.differences import differences
from approvals.presentation.edit import (
    Control,
    Difference,
    EditCost,
    EditView,
    first_wrong,
)
from approvals.presentation.moved import Moved, moved
from approvals.presentation.reading import filled, leaves
from approvals.presentation.words import counted
from approvals.separation import Key, standing
from approvals.services.asking import as_short_as
from approvals.target import followed
from kernel.problems import Problem
from tenants.models import ApiKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    """What a form said so far: texts by control name, or the arguments they make."""

    reason: str = ""
    post: Mapping[str, str] = field(default_factory=dict)
    arguments: Any = None
    errors: Mapping[str, str] = field(default_factory=dict)


def edit_view(record: CaseRecord, selection: Selection, edited: Edited) -> EditView:
    """The first step, or the second once `edited.arguments` are there."""
    original = record.envelope.action.arguments
    proposed = original if edited.arguments is None else edited.arguments
    owed = _owed(record, proposed)
    counts = _editor_counts(record, owed)
    compared = edited.arguments is not None
    id, slug, query = record.request.id, record.slug, selection.query
    offered = _controls(record, original, edited)
    return EditView(
        label=short_name("REQ", id),
        title=record.request.title,
        tool=record.request.tool.name,
        href=address("edit", slug, id, query=query),
        case_href=address("case", slug, id, query=query),
        decide_href=address("decide", slug, id, query=query),
        digest=bytes(record.revision.digest).hex(),
        revision=record.revision.number,
        now=record.now,
        controls=offered,
        costs=_costs(record, owed),
        counts=counts,
        expiry=None if counts and owed.approvals_needed == 1 else _expiry(record, owed),
        reason=edited.reason,
        reason_required=record.envelope.obligation.reason == "always",
        reauthentication=asks_who(record),
        errors=edited.errors,
        begin=first_wrong(edited.errors) if edited.errors else _first_editable(offered),
        differences=_differences(record, proposed) if compared else (),
        tree=argument_tree(proposed, schema_of(record)) if compared else None,
        arguments_text=rfc8785.dumps(proposed).decode() if compared else "",
    )


def _differences(record: CaseRecord, proposed: Any) -> tuple[Difference, ...]:
    """Of the arguments, and of what they aim at."""
    action = record.envelope.action
    aims = differences(action.target, _aimed(record, proposed), TARGET)
    return (*differences(action.arguments, proposed), *aims)


TARGET: Final = "target"


def _aimed(record: CaseRecord, arguments: Any) -> Any:
    """What the arguments aim at; where that is not told, the page says so already."""
    action = record.envelope.action
    try:
        return followed(action.target, action.arguments, arguments)
    except Problem:
        return action.target


def _first_editable(offered: Iterable[Control]) -> str:
    return next((one.name for one in leaves(offered) if one.kind != "fixed"), "")


def _expiry(record: CaseRecord, owed: Obligation) -> Moved | None:
    """The time to decide begins anew, where people are asked again."""
    if owed.verdict is not Verdict.REQUIRE_REVIEW:
        return None
    within = as_short_as(record.envelope.obligation, owed).decide_within
    return moved(record.request.due_at, record.now + timedelta(seconds=within))


def schema_of(record: CaseRecord) -> Any:
    return record.request.tool.definition.get("schema")


def _controls(record: CaseRecord, original: Any, edited: Edited) -> tuple[Control, ...]:
    asked = controls(original, schema_of(record))
    return filled(asked, edited.post, edited.errors) if edited.post else tuple(asked)


def _owed(record: CaseRecord, arguments: Any) -> Obligation:
    """What policy would ask of these arguments now. Asked again when it is recorded."""
    request = record.request
    key = ApiKey.objects.select_related("agent").get(id=request.key_id)
    return judge_action(
        tool=request.tool.name,
        arguments=arguments,
        target=_aimed(record, arguments),
        risk=request.risk,
        key=key,
        agent=key.agent,
        session=request.session,
        run=request.run,
    )


def _editor_counts(record: CaseRecord, owed: Obligation) -> bool:
    stands = standing(record.request, record.revision, record.envelope, owed)
    return (
        owed.verdict is Verdict.REQUIRE_REVIEW
        and owed.editor_counts
        and stands.counts(record.viewer.id)
    )


def _costs(record: CaseRecord, owed: Obligation) -> tuple[EditCost, ...]:
    return (
        *_unturnable(record, owed),
        _dismissed(record),
        _asked_again(owed),
        EditCost(
            icon="agent",
            text=f"{record.request.agent.name} acts on your values",
            note="It is told who edited them and why.",
        ),
    )


def _unturnable(record: CaseRecord, owed: Obligation) -> list[EditCost]:
    """The keys for which nobody would be left, once the editor is on the asking side."""
    if owed.verdict is not Verdict.REQUIRE_REVIEW:
        return []
    mine = Revision(author_type="member", author_id=record.viewer.id)
    stands = standing(record.request, mine, record.envelope, owed)
    everybody = [
        Key(one) for one in sorted(frozenset().union(*stands.eligible.values()))
    ]
    groups = group_names(owed)
    return [
        EditCost(
            icon="warn",
            text=f"Nobody could turn this key: {label_of(rule, groups, record)}",
            note="It would wait until its time is over.",
        )
        for rule, person in stands.seats(everybody)
        if person is None
    ]


def _dismissed(record: CaseRecord) -> EditCost:
    approve = Decision.Verdict.APPROVE
    names = [record.name(d.member_id) for d in record.counted if d.verdict == approve]
    if not names:
        return EditCost(icon="key-waiting", text="No key has turned yet")
    return EditCost(
        icon="key-waiting",
        text=f"Dismissed: the {'keys' if len(names) > 1 else 'key'} of {', '.join(names)}",
        note="They agreed to other values.",
    )


def _asked_again(owed: Obligation) -> EditCost:
    answers = {
        Verdict.DENY: ("Policy refuses these values", "The request would be rejected."),
        Verdict.ALLOW: ("Policy lets these values through", "No key is needed."),
        Verdict.REQUIRE_REVIEW: (
            f"Policy asks for {counted(owed.approvals_needed, 'key')}",
            "It is asked again when you keep the values.",
        ),
    }
    text, note = answers[owed.verdict]
    return EditCost(icon="policy", text=text, note=note)
