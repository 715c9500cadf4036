"""The simulator on a page: read inside the tenant's scope, judged outside of it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from approvals.pages.addresses import address, short_name
from approvals.pages.viewer import Viewer
from approvals.policy import Obligation
from approvals.policy.trial import Changed, Trial
from approvals.services.policies import asks_for_second_admin
from approvals.trial import (
    LIMITS,
    Lately,
    Prepared,
    Progress,
    lately,
    prepare,
    untold,
    with_draft,
)
from kernel.clock import database_now
from oversight.pages.policies import differences
from oversight.pages.policy_names import policy_names
from oversight.presentation.policy import TrialGroup, TrialRow, TrialView
from oversight.presentation.policy_words import (
    Names,
    obligation_words,
    outcome_words,
)

SHOWN: Final = 50
MOST_GROUPS: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialToRun:
    """Everything that was read: judging and showing it asks the database nothing."""

    prepared: Prepared
    names: Names
    slug: str
    now: datetime

    def view(self, progress: Progress = untold) -> TrialView:
        return _view(self, self.prepared.judge(progress=progress))


def is_long(limit: int) -> bool:
    """Whether so many take long enough for a person to be told of the progress."""
    return limit > LIMITS[1]


def trial_limit(text: str) -> int:
    """How many requests to examine: one of `LIMITS`, the least by default."""
    known = {str(one): one for one in LIMITS}
    return known.get(text, LIMITS[0])


def read_trial(
    viewer: Viewer,
    name: str,
    definition: Mapping[str, Any] | None,
    *,
    limit: int,
    author: UUID | None,
    progress: Progress = untold,
) -> TrialToRun:
    """What the newest requests would owe with this policy. Inside the scope.

    Where a second admin publishes, they stand for it: its author does not matter then.
    """
    tenant_id = viewer.membership.tenant_id
    alone = None if asks_for_second_admin(tenant_id) else author
    before, after = with_draft(name, definition, alone)
    return TrialToRun(
        prepared=prepare(tenant_id, before, after, lately(limit, progress)),
        names=policy_names(),
        slug=viewer.slug,
        now=database_now(),
    )


def _view(ran: TrialToRun, trial: Trial) -> TrialView:
    requests = {one.id: one for one in ran.prepared.requests}
    return TrialView(
        examined=trial.examined,
        matched=trial.matched,
        changed=len(trial.changed),
        complete=trial.complete,
        groups=_groups(trial.changed, ran.names),
        rows=tuple(_row(ran, requests[one.id], one) for one in trial.changed[:SHOWN]),
        now=ran.now,
    )


def _groups(changed: Sequence[Changed], names: Names) -> tuple[TrialGroup, ...]:
    """How often each outcome became each other; the commonest first."""
    counted = Counter((one.before, one.after) for one in changed)
    moved: Counter[tuple[str, str]] = Counter()
    for (before, after), count in counted.items():
        moved[_move(before, after, names)] += count
    return tuple(
        TrialGroup(count=f"{count:,}", before=before, after=after)
        for (before, after), count in moved.most_common(MOST_GROUPS)
    )


def _move(before: Obligation, after: Obligation, names: Names) -> tuple[str, str]:
    """The outcomes; or, where they are the same, what else there is to tell apart."""
    outcomes = outcome_words(before, names), outcome_words(after, names)
    if outcomes[0] != outcomes[1]:
        return outcomes
    said = differences(obligation_words(before, names), obligation_words(after, names))
    first = "; ".join(f"{one.label}: {one.before}" for one in said)
    return first, "; ".join(one.after for one in said)


def _row(ran: TrialToRun, request: Lately, one: Changed) -> TrialRow:
    before, after = (
        obligation_words(owed, ran.names) for owed in (one.before, one.after)
    )
    return TrialRow(
        label=short_name("REQ", one.id),
        title=request.title,
        href=address("case", ran.slug, one.id),
        at=request.asked_at,
        differences=differences(before, after),
    )
