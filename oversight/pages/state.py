"""A run's state at two versions, side by side."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self
from uuid import UUID

from django.utils import timezone

from approvals.pages.addresses import address, short_name
from approvals.pages.case.reading import Reading, reading_of
from approvals.pages.viewer import Viewer
from approvals.presentation.arguments import exact_text
from kernel.clock import database_now
from kernel.problems import NOT_FOUND, Problem
from oversight.pages.changes import ACTORS, Sought, changes_of
from oversight.pages.moments import NO_TIME, read_moment
from oversight.pages.workflows import diagrams_of, place
from oversight.presentation.workflow import StatedValue, StateFact, StateView, Stood
from oversight.queries import visible_run
from sessions.history import (
    FactThen,
    StateThen,
    differences,
    state_at_time,
    state_at_version,
    stood,
)
from sessions.models import Provenance, Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Which versions are compared; whatever is unknown in an address is the default."""

    before: int | None = None
    after: int | None = None
    only_changed: bool = False
    at: str = ""  # a time that was typed, which then says the later version
    sought: Sought = field(default_factory=Sought)

    @classmethod
    def read(cls, given: Mapping[str, str]) -> Self:
        return cls(
            before=_number(given.get("before", "")),
            after=_number(given.get("after", "")),
            only_changed=given.get("only") == "changed",
            at=given.get("at", "")[:40],
            sought=Sought.read(given),
        )

    def later(self, run: Run) -> StateThen:
        """The state at the time that was typed, or at a version that the run has had.

        Raises `not_found` for what is no time, and for one before the run began.
        """
        if self.at:
            moment = read_moment(self.at)
            if moment is None:
                raise NOT_FOUND(NO_TIME)
            return state_at_time(run, moment)
        after = run.version if self.after is None else self.after
        return state_at_version(run, min(after, run.version))

    def both(self, run: Run) -> tuple[StateThen, StateThen]:
        """The earlier and the later one, in whichever order they were named.

        Where none is named, it is the version before; also where the form sent one along
        that had not come at the time that was typed. Raises as `later` does.
        """
        after = self.later(run)
        named = None if self.before is None else min(self.before, run.version)
        if named is None or (self.at and named >= after.version):
            named = max(after.version - 1, 0)
        before = state_at_version(run, named)
        return (after, before) if named > after.version else (before, after)


def state_view(viewer: Viewer, run_id: UUID, span: Span) -> StateView:
    """Raises `not_found` for a run that the member may not see."""
    run = visible_run(viewer, run_id)
    before, after, error = _both(run, span)
    workflow, slug, now = run.workflow, viewer.slug, database_now()
    reading = reading_of(viewer, workflow, now)
    version = f"?version={workflow.version}"
    return StateView(
        label=short_name("RUN", run.id),
        run_href=address("run", slug, run.id),
        before=before.version,
        after=after.version,
        last=run.version,
        name=span.sought.name,
        only_changed=span.only_changed,
        moved=_moved(before, after),
        stood=tuple(Stood(one, *stood(run, one)) for one in _versions(before, after)),
        now=now,
        facts=tuple(_facts(before, after, span, reading)),
        workflow_href=place("workflow", slug, workflow.kind, version),
        diagrams=diagrams_of(workflow.definition, after.stage),
        changes=changes_of(run, span.sought, reading),
        actors=tuple((one, one == span.sought.actor) for one in ACTORS),
        sources=tuple(
            (one, one == span.sought.provenance) for one in Provenance.values
        ),
        zone=timezone.localtime(now).tzname() or "",
        typed=span.at,
        error=error,
    )


def _both(run: Run, span: Span) -> tuple[StateThen, StateThen, str]:
    """What is asked for; or up to the newest, and why that cannot be told."""
    try:
        return *span.both(run), ""
    except Problem as problem:
        newest = replace(span, at="", after=None)
        return *newest.both(run), problem.detail


def _versions(before: StateThen, after: StateThen) -> list[int]:
    return sorted({before.version, after.version})


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) < 16 else None


def _moved(before: StateThen, after: StateThen) -> str:
    """How state and stage differ, in a sentence."""
    pairs = (("state", before.state, after.state), ("stage", before.stage, after.stage))
    said = [
        f"{name} from {was or 'none'} to {now or 'none'}"
        for name, was, now in pairs
        if was != now
    ]
    return f"Moved: {', '.join(said)}." if said else "State and stage are the same."


def _facts(
    before: StateThen, after: StateThen, span: Span, reading: Reading
) -> list[StateFact]:
    changed = {one.name for one in differences(before, after)}
    names = sorted({*before.facts, *after.facts})
    return [
        StateFact(
            name=name,
            then=_stated(before.facts.get(name), reading.shows(name)),
            now=_stated(after.facts.get(name), reading.shows(name)),
            changed=name in changed,
        )
        for name in names
        if span.sought.name in name and (name in changed or not span.only_changed)
    ]


def _stated(fact: FactThen | None, shown: bool) -> StatedValue | None:
    if fact is None:
        return None
    return StatedValue(
        text=exact_text(fact.value) if shown else "",
        provenance=fact.provenance or "model",
        reference=fact.reference if shown else "",
        withheld=not shown,
    )
