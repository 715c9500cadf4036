"""Every change of a run's facts, newest first, by actor, field or provenance."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Self

from django.db.models import FETCH_RAISE

from approvals.pages.case.reading import Reading
from oversight.pages.steps import fact_change
from oversight.presentation.workflow import ChangeRow
from sessions.models import Provenance, Run, Transition

READ: Final = 500  # newest transitions that are looked through
MOST: Final = 100  # changes that are shown
ACTORS: Final = ("agent", "member", "system")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sought:
    """Which changes; whatever is unknown in an address asks for nothing."""

    name: str = ""
    actor: str = ""
    provenance: str = ""

    @classmethod
    def read(cls, given: Mapping[str, str]) -> Self:
        actor, source = given.get("actor", ""), given.get("provenance", "")
        return cls(
            name=given.get("fact", "")[:64],
            actor=actor if actor in ACTORS else "",
            provenance=source if source in Provenance.values else "",
        )


def changes_of(run: Run, sought: Sought, reading: Reading) -> tuple[ChangeRow, ...]:
    """Of the newest transitions at most, those that are sought."""
    rows = Transition.objects.filter(run_id=run.id).exclude(changes={})
    if sought.actor:
        rows = rows.filter(actor_type=sought.actor)
    newest = rows.order_by("-seq").fetch_mode(FETCH_RAISE)[:READ]
    found = (one for row in newest for one in _rows(row, sought, reading))
    return tuple(one for _, one in zip(range(MOST), found, strict=False))


def _rows(row: Transition, sought: Sought, reading: Reading) -> Iterator[ChangeRow]:
    for name, said in sorted(row.changes.items()):
        fact = fact_change(name, said, reading.shows(name))
        if sought.name in name and sought.provenance in {"", fact.provenance}:
            yield ChangeRow(
                at=row.created_at, version=row.version, actor=row.actor_type, fact=fact
            )
