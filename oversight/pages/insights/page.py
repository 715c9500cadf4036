"""The page of insights, from what was measured. Inside the tenant's scope."""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Final
from uuid import UUID

from approvals.models import Queue
from approvals.pages.addresses import address
from approvals.presentation.shell import Empty
from approvals.presentation.words import span
from oversight.pages.insights.measure import (
    OUTCOMES,
    Count,
    Load,
    Sums,
    agents,
    ages,
    figures,
    last_days,
    loads,
    outcomes,
    refusals,
    sums,
    times_to_decision,
    tools,
)
from oversight.presentation.insights import (
    Bar,
    Figure,
    InsightsView,
    Lines,
    LoadRow,
    bars,
    lines,
    stacked,
)
from oversight.tallies import HASTE
from tenants.access import Membership
from tenants.models import Member

RANGES: Final = {"7": "7 days", "14": "14 days", "30": "30 days", "90": "90 days"}
USUAL: Final = "14"
MOST: Final = 8  # bars of a list
BUSY: Final = 20  # decisions from which a rate says something
PACE: Final = 60  # approvals in an hour, from which it is said
TITLES: Final = {
    "identity": "Identity",
    "position": "Position",
    "effects": "Effects",
    "authority": "Authority",
}


def insights_view(member: Membership, given: Mapping[str, str]) -> InsightsView:
    """`given` holds `days` and `queue`; anything unknown is the default."""
    days = given.get("days", USUAL) if given.get("days") in RANGES else USUAL
    queues = list(Queue.objects.order_by("name"))
    queue = next((one for one in queues if str(one.id) == given.get("queue")), None)
    asked = last_days(member.tenant_id, int(days), queue.id if queue else None)
    found = sums(asked)
    charted = stacked(OUTCOMES, asked.days, outcomes(found))
    slug = member.slug
    return InsightsView(
        now=asked.now,
        title=f"The last {RANGES[days]}, {queue.name if queue else 'all queues'}.",
        ranges=tuple((one, words, one == days) for one, words in RANGES.items()),
        queues=tuple((str(one.id), one.name, one == queue) for one in queues),
        figures=_figures(found, sums(asked.before)),
        outcomes=charted,
        times=_times(found, asked.days),
        ages=bars([(name, count, "") for name, count in ages(asked)]),
        refusals=_refusals(refusals(found)),
        tools=bars([(name, count, "") for name, count in tools(found, most=MOST)]),
        agents=bars([(name, count, "") for name, count in agents(found, most=MOST)]),
        loads=_loads(loads(found)),
        empty=None if any(count for _, count in charted.names) else _empty(slug),
    )


def _times(found: Sums, days: Sequence[date]) -> Lines:
    rows = times_to_decision(found)
    times = {row.day: (row.median, row.slow) for row in rows}
    words = {row.day: (_words(row.median), _words(row.slow)) for row in rows}
    return lines(days, times, words)


def _figures(found: Sums, earlier: Sums) -> tuple[Figure, ...]:
    now, before = figures(found), figures(earlier)
    return (
        Figure(
            name="Requests closed",
            value=f"{now.closed:,}",
            note=_compared(now.closed, before.closed),
        ),
        Figure(
            name="Time to decision, p50",
            value=_words(now.median),
            note=f"first view after {_words(now.viewed)}" if now.viewed else "",
        ),
        Figure(name="Time to decision, p95", value=_words(now.slow)),
        Figure(
            name="Decision to effect, p95",
            value=_words(now.to_effect_slow),
            note=f"p50 {_words(now.to_effect)}, of what was confirmed",
        ),
        Figure(
            name="Refused at the check",
            value=f"{now.refused:,}",
            note="actions that did not happen",
            icon="policy-pass",
        ),
        Figure(
            name="Expired",
            value=f"{now.expired:,}",
            note=_rate(now.expired, now.closed),
            icon="warn" if now.expired else "",
        ),
        Figure(
            name="Re-opened by a check",
            value=f"{now.reopened:,}",
            note=_rate(now.reopened, now.asked, "of what was asked"),
        ),
        Figure(
            name="Overrides",
            value=f"{now.edited + now.glass:,}",
            note=f"{now.edited:,} edited, {now.glass:,} with the glass broken",
        ),
    )


def _compared(now: int, before: int) -> str:
    if not before:
        return "none in the range before"
    change = round(100 * (now - before) / before)
    if not change:
        return "as many as before"
    return f"{abs(change)} % {'more' if change > 0 else 'fewer'} than before"


def _rate(part: int, whole: int, of: str = "of them") -> str:
    return f"{round(100 * part / whole)} % {of}" if whole else ""


def _words(seconds: float | None) -> str:
    if seconds is None:
        return "none"
    if seconds < 60:
        # Two clocks' reading of one moment may lie a hair apart.
        return f"{max(0.0, float(seconds)):.1f} s"
    return span(timedelta(seconds=float(seconds)))


def _refusals(rows: Sequence[Count]) -> tuple[Bar, ...]:
    """By check, with the codes under it."""
    codes: dict[str, list[str]] = {name: [] for name in TITLES}
    counts = dict.fromkeys(TITLES, 0)
    for code, count in rows:
        check = code.partition(".")[0]
        name = check if check in TITLES else "position"
        counts[name] += count
        codes[name].append(f"{code.partition('.')[2] or code} {count}")
    return bars(
        [(TITLES[name], counts[name], ", ".join(codes[name])) for name in TITLES]
    )


def _loads(rows: Sequence[Load]) -> tuple[LoadRow, ...]:
    shown = rows[:MOST]
    people = Member.objects.filter(id__in=[row.member for row in shown])
    names = {one.id: one.name for one in people}
    most = max((row.decisions for row in shown), default=1)
    return tuple(_load(row, names, most) for row in shown)


def _load(row: Load, names: Mapping[UUID, str], most: int) -> LoadRow:
    return LoadRow(
        name=names.get(row.member, str(row.member)),
        decisions=row.decisions,
        share=round(100 * row.decisions / most, 1),
        approved=round(100 * row.approvals / row.decisions),
        reading="" if row.reading is None else _words(row.reading),
        hasty=row.hasty,
        busiest=row.busiest,
        hint=_hint(row),
    )


def _hint(row: Load) -> str:
    """What may tell of fatigue. It changes nobody's rights."""
    if row.hasty >= 3 and row.hasty * 10 >= row.decisions:
        return f"{row.hasty} decisions within {HASTE} s of the first view"
    if row.busiest >= PACE:
        return f"{row.busiest} approvals in one hour"
    if row.decisions >= BUSY and row.approvals == row.decisions:
        return "approved everything"
    return ""


def _empty(slug: str) -> Empty:
    return Empty(
        title="Nothing was decided in this range",
        sentence="Choose a longer one, or look at what waits.",
        icon="insights",
        label="Open the queue",
        href=address("queue", slug),
    )
