"""What the model sees, as a reviewer reads it: inert texts, each with its worth."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class PieceRow:
    """One piece. `text` is partly or wholly somebody's own unless it is a `record`."""

    key: str
    kind: str
    provenance: str
    trust: str
    text: str
    why: str
    tokens: int
    flags: tuple[str, ...] = ()

    @property
    def is_ours(self) -> bool:
        return self.trust == "record"

    @property
    def is_doubtful(self) -> bool:
        """Not to be believed, whatever it says."""
        return self.trust in {"untrusted", "quarantined"}


@dataclass(frozen=True, slots=True, kw_only=True)
class DroppedRow:
    """What was left out, in words of ours."""

    name: str
    kind: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A context that the agent recorded and named when it asked."""

    digest: str
    shape: str
    tokens: int
    at: datetime
    unchanged: bool
    altered: bool = False  # not what the audit log says that it named


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextPage:
    """In the template's context as `page`. `needs` is set when nothing could be built."""

    label: str
    title: str
    case_href: str
    now: datetime
    max_tokens: int
    tokens: int = 0
    digest: str = ""
    pieces: tuple[PieceRow, ...] = ()
    dropped: tuple[DroppedRow, ...] = ()
    seen: Seen | None = None
    needs: int = 0

    @property
    def quarantined(self) -> int:
        return sum(one.trust == "quarantined" for one in self.pieces)
