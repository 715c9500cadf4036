"""A run's state at two versions, side by side."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self
from uuid import UUID

from approvals.pages.addresses import address, short_name
from approvals.pages.case.reading import Reading, reading_of
from approvals.pages.viewer import Viewer
from approvals.presentation.arguments import exact_text
from kernel.clock import database_now
from oversight.pages.workflows import diagrams_of, place
from oversight.presentation.workflow import StatedValue, StateFact, StateView
from oversight.queries import visible_run
from sessions.history import FactThen, StateThen, differences, state_at_version
from sessions.models import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Which versions are compared; whatever is unknown in an address is the default."""

    before: int | None = None
    after: int | None = None
    name: str = ""
    only_changed: bool = False

    @classmethod
    def read(cls, given: Mapping[str, str]) -> Self:
        return cls(
            before=_number(given.get("before", "")),
            after=_number(given.get("after", "")),
            name=given.get("fact", "")[:64],
            only_changed=given.get("only") == "changed",
        )

    def of(self, run: Run) -> tuple[int, int]:
        """Two versions that the run has had."""
        after = min(run.version if self.after is None else self.after, run.version)
        before = max(after - 1, 0) if self.before is None else self.before
        return min(before, run.version), after


def state_view(viewer: Viewer, run_id: UUID, span: Span) -> StateView:
    """Raises `not_found` for a run that the member may not see."""
    run = visible_run(viewer, run_id)
    first, last = span.of(run)
    before, after = state_at_version(run, first), state_at_version(run, last)
    workflow, slug, now = run.workflow, viewer.slug, database_now()
    version = f"?version={workflow.version}"
    return StateView(
        label=short_name("RUN", run.id),
        run_href=address("run", slug, run.id),
        before=first,
        after=last,
        last=run.version,
        name=span.name,
        only_changed=span.only_changed,
        moved=_moved(before, after),
        at=after.at,
        now=now,
        facts=tuple(_facts(before, after, span, reading_of(viewer, workflow, now))),
        workflow_href=place("workflow", slug, workflow.kind, version),
        diagrams=diagrams_of(workflow.definition, after.stage),
    )


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
        if span.name in name and (name in changed or not span.only_changed)
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
