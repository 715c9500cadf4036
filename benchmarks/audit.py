"""The audit log of a thousand entries beside one of a million: pages, exports, proof."""

import tracemalloc
from collections.abc import Iterator
from io import RawIOBase
from typing import TYPE_CHECKING, Any, Final

from rich.progress import track

from benchmarks.measure import Figure, in_turns, measured

if TYPE_CHECKING:
    from tests.approvals.stage import Stage

SIZES: Final = (1_000, 1_000_000)
AT_ONCE: Final = 2_000
PAGES: Final = {
    "newest": "",
    "deep": "?before={middle}",
    "of a kind": "?kind=bench.rare",
}


def audit_log(stages: "list[Stage]", count: int) -> Iterator[list[Figure]]:
    """One tenant for each of `SIZES`; each page of both in turns, and all verified once."""
    for stage, size in zip(stages, SIZES, strict=True):
        _fill(stage, size)
    for name, query in PAGES.items():
        looks = {
            f"audit, {name}, of {size:,}": _look(stage, query.format(middle=size // 2))
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
    """Entries as verbs write them, signed and linked; one in five hundred is rare."""
    from audit.append import recorded

    steps = range(0, size, AT_ONCE)
    for first in track(steps, f"{size:,} entries", disable=size < 10_000):
        with recorded(stage.tenant_id) as journal:
            for number in range(first, min(first + AT_ONCE, size)):
                _note(stage, journal, number)


def _note(stage: "Stage", journal: Any, number: int) -> None:
    journal.record(
        kind="bench.usual" if number % 500 else "bench.rare",
        actor=("member", stage.house.alice.id),
        subject=("request", stage.tool.id),
        data={"number": number, "note": "as long as such entries are"},
    )
