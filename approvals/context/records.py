"""The first three steps: what there is to build a context of, read at one moment.

Whoever asks is authorised by the first statement, before a row of any of it is read.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from approvals.context.items import Entry, read_item
from approvals.context.stored import StandingSummary, standing_summary
from approvals.envelope import UNREADABLE, Action, Envelope
from approvals.judging import judge_action
from approvals.models import Request
from approvals.policy import Obligation
from approvals.reading import Snapshot, snapshots
from approvals.states import LIVE
from checkpoints.checkpoint import is_intact
from checkpoints.definition import TOOL_NAME
from checkpoints.models import Checkpoint, Effect, Tool
from checkpoints.queries import positions_since
from sessions.contract import Contract
from sessions.models import Item, Run
from sessions.queries import TRUNK, FactNow, facts_of, items_on, newest_within
from sessions.runs import ENDED
from tenants.models import ApiKey

MOST_ITEMS: Final = 500
MOST_BYTES: Final = 1024 * 1024
"""Of items that are looked through for one context: what is older is not."""
LARGEST: Final = 256 * 1024
"""Bytes of an item that is looked through. A larger one is never shown."""
MOST_REQUESTS: Final = 50
MOST_EFFECTS: Final = 50
NAME: Final = re.compile(TOOL_NAME)

type Find = Callable[[], Run]
"""Finds the run with session, agent and workflow, for somebody who may see it, or raises."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """A request as it stands. `action` is None when its sealed bytes say nothing."""

    now: Snapshot
    action: Action | None

    @property
    def request(self) -> Request:
        return self.now.request

    @property
    def is_live(self) -> bool:
        return self.request.state in LIVE


@dataclass(frozen=True, kw_only=True)
class Records:
    """Session and workflow records: typed state, and nobody's prose."""

    run: Run
    contract: Contract
    facts: Mapping[str, FactNow]
    questions: Sequence[Question]
    effects: Sequence[Effect]

    @property
    def authority(self) -> frozenset[str]:
        """The facts that the workflow calls authority-bearing."""
        return self.contract.authority


@dataclass(frozen=True, kw_only=True)
class Standing:
    """Where the run can restart, and what is wrong with that: '' when nothing is."""

    head: Checkpoint | None
    flaw: str = ""


@dataclass(frozen=True, kw_only=True)
class Relevant:
    """The items that the next step may need, oldest first.

    `elsewhere` are the positions of another run's work in progress; `left_out` are
    (position, bytes) of items that are too large to be looked through; `older` says
    that there are items before these. `summary` is the newest stored one.
    """

    entries: tuple[Entry, ...]
    elsewhere: tuple[int, ...]
    older: bool
    summary: StandingSummary | None
    left_out: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What policy and permissions say now of what the run asks for and has called."""

    verdicts: Mapping[UUID, Obligation]
    tools: Mapping[str, Tool | None]


def load_records(find: Find) -> Records:
    """Step 1: the authenticated session and its workflow's records. Raises what `find` raises."""
    run = find()
    return Records(
        run=run,
        contract=Contract.of(run.workflow),
        facts=facts_of(run),
        questions=[_question(one) for one in snapshots(_requests(run))],
        effects=_effects(run),
    )


def check_checkpoint(records: Records) -> Standing:
    """Step 2: the latest checkpoint, its digest and its schema version."""
    run = records.run
    if run.head_number is None:
        return Standing(head=None)
    found = positions_since(run, run.head_number).get(run.head_number)
    if found is None:
        return Standing(head=None, flaw="checkpoint_missing")
    head, payload_hash = found
    sealed = bytes(head.digest) == bytes(run.head_digest or b"")
    if not (sealed and is_intact(head, payload_hash)):
        return Standing(head=head, flaw="checkpoint_corrupted")
    if not records.contract.understands(head.schema_version):
        return Standing(head=head, flaw="schema_unsupported")
    return Standing(head=head)


def fetch_relevant(records: Records) -> Relevant:
    """Step 3: of the session's history only what the next step of this run may need."""
    run = records.run
    branch = run.branch or TRUNK
    found = newest_within(
        items_on(run.session_id, branch),
        session_id=run.session_id,
        limit=MOST_ITEMS,
        most=MOST_BYTES,
        largest=LARGEST,
    )
    items = found.items
    busy = _busy(run, {item.run for item in items if item.run})
    return Relevant(
        entries=tuple(entry_of(item) for item in items if item.run not in busy),
        elsewhere=tuple(item.position for item in items if item.run in busy),
        left_out=found.left_out,
        older=found.more,
        summary=standing_summary(run.session, branch),
    )


def current_rules(records: Records, called: Sequence[str]) -> Rules:
    """Read for step 6: what is asked for, judged by the policies in force now."""
    asked = [one for one in records.questions if one.is_live]
    known = {name for name in called if NAME.fullmatch(name)}
    names = sorted({one.request.tool.name for one in asked} | known)
    tools = {one.name: one for one in Tool.objects.filter(name__in=names)}
    keys = ApiKey.objects.in_bulk({one.request.key_id for one in asked})
    return Rules(
        verdicts={
            one.request.id: _judged(records, one, one.action, keys)
            for one in asked
            if one.action is not None
        },
        tools={name: tools.get(name) for name in names},
    )


def _judged(
    records: Records, asked: Question, action: Action, keys: Mapping[UUID, ApiKey]
) -> Obligation:
    return judge_action(
        tool=action.tool,
        arguments=action.arguments,
        target=action.target,
        risk=asked.request.risk,
        key=keys[asked.request.key_id],
        agent=records.run.agent,
        session=records.run.session,
        run=records.run,
    )


def _question(now: Snapshot) -> Question:
    """Whoever can write to the database can put anything there: then it says nothing."""
    try:
        action = Envelope(bytes(now.revision.envelope)).action
    except UNREADABLE:
        return Question(now=now, action=None)
    return Question(now=now, action=action)


def _requests(run: Run) -> list[Request]:
    """Those of the run that are open, and the newest of the others; oldest first."""
    rows = Request.objects.filter(run_id=run.id).select_related("tool", "queue")
    newest = rows.order_by("-created_at", "-id")
    live = list(newest.filter(state__in=LIVE))
    ended = list(newest.exclude(state__in=LIVE)[:MOST_REQUESTS])
    return sorted([*live, *ended], key=lambda one: (one.created_at, one.id))


def _effects(run: Run) -> list[Effect]:
    rows = Effect.objects.filter(run_id=run.id).select_related("tool")
    return list(rows.order_by("-created_at", "-id")[:MOST_EFFECTS])[::-1]


def _busy(run: Run, others: set[UUID]) -> set[UUID]:
    """The other runs in the session that are still at work: theirs is not history yet."""
    rows = Run.objects.filter(id__in=others - {run.id}).exclude(state__in=ENDED)
    return set(rows.values_list("id", flat=True))


def entry_of(item: Item) -> Entry:
    return read_item(
        item.raw,
        position=item.position,
        id=item.id,
        run=item.run,
        at=item.created_at.isoformat(timespec="seconds"),
    )
