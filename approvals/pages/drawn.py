"""The next case, drawn while the answer to the one before it is still given.

Whoever opens the step that answers will want the next case in a moment. It is drawn then,
as it will stand once the answer is recorded, kept by the page that is open, and shown
only if nothing that is decided upon has changed by then. What else is on the page, the
stream brings up to date, as in any case that is open for a while.
"""

import hashlib
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Self
from uuid import UUID

from approvals.models import Request
from approvals.pages.case import CaseRecord
from approvals.pages.case.alike import last_alike
from approvals.pages.viewer import Viewer
from approvals.queries import versions

LONGEST: Final = 60  # seconds that it is kept


@dataclass(frozen=True, slots=True)
class Mark:
    """Which case was drawn, after which answered one, when, and how it stood for whom."""

    case: UUID
    after: UUID
    at: int  # seconds since 1970
    stood: str

    def __str__(self) -> str:
        return f"{self.case}.{self.after}.{self.at}.{self.stood}"

    @classmethod
    def read(cls, text: str) -> Self | None:
        """None for what is no mark, or an old one."""
        try:
            case, after, at, stood = text.split(".")
            mark = cls(UUID(case), UUID(after), int(at[:12]), stood)
        except ValueError:
            return None
        return mark if 0 <= time.time() - mark.at <= LONGEST else None


def mark_of(record: CaseRecord, after: UUID) -> Mark:
    alike = record.alike.id if record.alike else None
    stood = _stands(record.viewer, record.request, alike)
    return Mark(record.request.id, after, int(time.time()), stood)


def still_holds(mark: Mark, viewer: Viewer, request: Request) -> bool:
    """Whether what was drawn under this mark would be drawn the same now."""
    alike = last_alike(viewer, request)
    return mark.stood == _stands(viewer, request, alike)


def _stands(viewer: Viewer, request: Request, alike: UUID | None) -> str:
    said = repr((alike, *_said(viewer, request)))
    return hashlib.sha256(said.encode()).hexdigest()


def _said(viewer: Viewer, request: Request) -> Iterable[object]:
    now = versions([request.id, request.run_id])
    yield from (viewer.id, request.revision, request.queue_id)
    yield from (now.get(request.id), now.get(request.run_id))
    yield sorted(viewer.rights_on(request.queue_id))
