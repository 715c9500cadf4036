"""The next case, drawn while the answer to the one before it is still given.

Whoever opens the step that answers will want the next case in a moment. It is drawn then,
as it will stand once the answer is recorded, kept by the page that is open, and shown
only if nothing of it has changed by then.
"""

import hashlib
import time
from collections.abc import Iterable
from typing import Final
from uuid import UUID

from approvals.pages.case import CaseRecord
from approvals.pages.case.alike import last_alike
from approvals.pages.case.page import place_of
from approvals.pages.folding import in_order
from approvals.pages.index import Entry, Index
from approvals.pages.selection import Selection
from approvals.pages.viewer import Viewer
from approvals.queries import versions

LONGEST: Final = 60  # seconds that it is kept: not all of it is in its mark


def mark_of(record: CaseRecord, index: Index, selection: Selection) -> str:
    """When a case was drawn, and a digest of how it stood, where in the list, for whom.

    '' where the list does not hold it.
    """
    entry = index.find(record.request.id)
    if entry is None:
        return ""
    alike = record.alike.id if record.alike else None
    said = _said(record.viewer, entry, index, selection)
    return _mark(int(time.time()), (*said, alike))


def still_holds(
    mark: str, viewer: Viewer, entry: Entry, index: Index, selection: Selection
) -> bool:
    """Whether what was drawn under this mark would be drawn the same now."""
    at = mark.partition(".")[0][:12]
    if not (at.isascii() and at.isdecimal()):
        return False
    if not 0 <= time.time() - int(at) <= LONGEST:
        return False
    said = _said(viewer, entry, index, selection)
    return mark == _mark(int(at), (*said, last_alike(viewer, entry)))


def _said(
    viewer: Viewer, entry: Entry, index: Index, selection: Selection
) -> Iterable[object]:
    now = versions([entry.id, entry.run_id])
    entries = in_order(index, selection)
    yield from (viewer.id, entry.id, entry.revision_id)
    yield from (now.get(entry.id), now.get(entry.run_id))
    yield place_of(entries, selection, viewer.slug, entry.id)
    yield sorted(viewer.rights_on(entry.queue_id))


def _mark(at: int, said: tuple[object, ...]) -> str:
    return f"{at}.{hashlib.sha256(repr(said).encode()).hexdigest()}"
