"""The request's state machine: every change there is, and no other."""

from itertools import product

import pytest

from approvals.models import Request
from approvals.states import ENDINGS, MOVES, OPEN, IllegalMove, check_move

S = Request.State

# DESIGN's table, written once more and independently.
ALLOWED = {
    **{(one, to): True for one in OPEN for to in ENDINGS},
    (S.PENDING, S.CHANGES_REQUESTED): True,
    (S.CHANGES_REQUESTED, S.PENDING): True,
    (S.PENDING, S.PENDING): True,  # a further revision
    (S.PENDING, S.APPROVED): True,
    (S.APPROVED, S.CONSUMED): True,
    (S.APPROVED, S.REVOKED): True,
    (S.APPROVED, S.LAPSED): True,
    (S.APPROVED, S.CANCELLED): True,
    (S.APPROVED, S.PENDING): True,  # re-opened
}


@pytest.mark.parametrize(("current", "to"), list(product(S, S)))
def test_a_request_changes_only_along_the_table(current: S, to: S) -> None:
    if ALLOWED.get((current, to)):
        check_move(current, to)
    else:
        with pytest.raises(IllegalMove):
            check_move(current, to)


def test_what_has_ended_never_changes_again() -> None:
    assert not {S.CONSUMED, S.REVOKED, S.LAPSED, *ENDINGS} & set(MOVES)
