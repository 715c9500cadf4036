"""The state machine of a request (docs/architecture.md draws it)."""

from typing import Final

from approvals.models import Request

S = Request.State
OPEN: Final = frozenset({S.PENDING, S.CHANGES_REQUESTED})
LIVE: Final = OPEN | {S.APPROVED}
"""Something can still come of it."""
APPROVED: Final = frozenset({S.APPROVED, S.CONSUMED})
ENDINGS: Final = frozenset(
    {S.REJECTED, S.ANSWERED, S.EXPIRED, S.CANCELLED, S.SUPERSEDED}
)

MOVES: Final[dict[str, frozenset[Request.State]]] = {
    S.PENDING: ENDINGS | {S.PENDING, S.CHANGES_REQUESTED, S.APPROVED},
    S.CHANGES_REQUESTED: ENDINGS | {S.PENDING},
    S.APPROVED: frozenset({S.CONSUMED, S.REVOKED, S.LAPSED, S.CANCELLED, S.PENDING}),
}


class IllegalMove(RuntimeError):
    """The state machine has no such change: the code is wrong, not the caller."""


def check_move(current: str, to: str) -> None:
    """Raises `IllegalMove` unless a request may go from `current` to `to`."""
    if to not in MOVES.get(current, frozenset()):
        raise IllegalMove(f"a {current} request cannot become {to}")
