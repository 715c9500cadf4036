"""The audit log of a thousand entries beside one of a million: pages, exports, proof."""

import tracemalloc
from collections.abc import Iterator
from datetime import UTC, datetime
from io import RawIOBase
from typing import TYPE_CHECKING, Any, Final

from rich.progress import track

from benchmarks.measure import Figure, in_turns, measured

if TYPE_CHECKING:
    from tests.approvals.stage import Stage

SIZES: Final = (1_000, 1_000_000)
AT_ONCE: Final = 2_000
A_THING: Final = 10  # entries about it
PAGES: Final = {
    "newest": "",
    "deep": "?before={middle}",
    "of a kind": "?kind=bench.seldom",
    "of a person": "?actor={person}",
    "of a kind and a person": "?kind=bench.usual&actor={person}",
    "about a thing": "?subject={thing}",
    "of today": "?since={today}&until={today}",
    "of no day": "?since=2001-01-01&until=2001-01-02",
}


def audit_log(stages: "list[Stage]", count: int) -> Iterator[list[Figure]]:
    """One tenant for each of `SIZES`; each page of both in turns, and all verified once."""
    for stage, size in zip(stages, SIZES, strict=True):
        _fill(stage, size)
    for name, query in PAGES.items():
        looks = {
            f"audit, {name}, of {size:,}": _look(
                stage, query.format(**_known(stage, size))
            )
            for stage, size in zip(stages, SIZES, strict=True)
        }
        yield in_turns(looks, count=count)
    yield [
        measured(f"verify {size:,}", _verify(stage), count=1)
        for stage, size in zip(stages, SIZES, strict=True)
    ]


def exported(stages: "list[Stage]") -> dict[str, int]:
    """The most bytes that Python held while it exported each, by form and size."""
    from oversight.pages.audit_export import FORMS

    return {
        f"{form} of {size:,}": _peak(stage, FORMS[form][0])
        for form in FORMS
        for stage, size in zip(stages, SIZES, strict=True)
    }


def _known(stage: "Stage", size: int) -> dict[str, object]:
    """What the addresses of `PAGES` name."""
    return {
        "middle": size // 2,
        "person": stage.house.alice.id,
        "thing": stage.tool.id,
        "today": datetime.now(UTC).date(),
    }


class _Nowhere(RawIOBase):
    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return len(data)


def _peak(stage: "Stage", write: Any) -> int:
    from audit.browsing import Wanted

    tracemalloc.start()
    try:
        write(stage.tenant_id, Wanted(), _Nowhere())
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _look(stage: "Stage", query: str) -> Any:
    from tests.approvals.views.browsing import reader

    browser = reader(stage, stage.house.alice)

    def look(_: int) -> None:
        assert browser.get(f"audit{query}").status_code == 200

    return look


def _verify(stage: "Stage") -> Any:
    from audit.verify import verify_tenant

    def verify(_: int) -> None:
        report = verify_tenant(stage.tenant_id)
        assert report.flaw is None

    return verify


def _fill(stage: "Stage", size: int) -> None:
    """Entries as verbs write them, signed and linked, about one thing after another."""
    from audit.append import recorded
    from kernel.ids import new_id

    steps = range(0, size, AT_ONCE)
    thing = stage.tool.id  # the oldest of them
    for first in track(steps, f"{size:,} entries", disable=size < 10_000):
        with recorded(stage.tenant_id) as journal:
            for number in range(first, min(first + AT_ONCE, size)):
                _note(stage, journal, number, thing)
                if number % A_THING == A_THING - 1:
                    thing = new_id()


def _note(stage: "Stage", journal: Any, number: int, thing: Any) -> None:
    """One in ten is of a kind of its own, and a person's."""
    seldom = number % 10 == 0
    robot, alice = stage.house.robot.agent.id, stage.house.alice.id
    journal.record(
        kind="bench.seldom" if seldom else "bench.usual",
        actor=("member", alice) if seldom else ("agent", robot),
        subject=("request", thing),
        data={"number": number, "note": "as long as such entries are"},
    )
