"""Adding to what was said in a session, taking it back, and saying it another way.

Every verb locks the session first, so that its items have one order, and then the run
that writes, so that a claim cannot come in between.
"""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from kernel.problems import NOT_FOUND, declare
from sessions.branches import (
    add_branch,
    add_removal,
    keep_position,
    next_position,
    require_free,
    take_less,
)
from sessions.hooks import hooks
from sessions.models import Branch, Item, Removal, Run, Session
from sessions.queries import (
    TRUNK,
    inherited,
    items_on,
    lock_own_session,
    locked,
    require_branch,
)
from sessions.redaction import redacted_text
from sessions.runs import FENCE_REQUIRED, PAUSE_OPEN, WAITING, require_writer
from sessions.vault import open_items, seal_items
from tenants.idempotency import Once
from tenants.principal import Principal
from tenants.verbs import Verb, perform

CRITICAL_ITEM: Final = declare(
    "critical_item", status=409, title="The history has to go on saying this for now"
)
ITEMS_CHANGED: Final = declare(
    "items_changed", status=409, title="The items changed since you read them"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a caller writes: a run's branch with its fence, or a branch by number."""

    session_id: UUID
    run_id: UUID | None = None
    fence: int | None = None
    branch: int | None = None


@dataclass(frozen=True, slots=True)
class _Line:
    """The locked session, the branch of it, and the run that writes there, if any."""

    session: Session
    branch: int
    run: Run | None

    def said(self) -> Sequence[int]:
        """The positions that stand, newest first."""
        items = items_on(self.session.id, self.branch).order_by("-position")
        return list(items.values_list("position", flat=True))

    def items(self) -> Sequence[Item]:
        """All that stands, opened."""
        items = items_on(self.session.id, self.branch).order_by("position")
        return open_items(list(items), session_id=self.session.id)


def append_items(
    *,
    who: Principal,
    session_id: UUID,
    items: Sequence[str],
    run_id: UUID | None = None,
    fence: int | None = None,
    branch: int | None = None,
    once: Once | None = None,
) -> list[Item]:
    """Add items, exact JSON texts, after the last one; all of them or none.

    Positions count on from the highest that the branch ever gave, from 1 at first: what
    is taken back leaves a gap. Raises `not_found` (404) for a session, run or branch
    that is not the agent's, `fence_required` (428) for a run without its fence and
    `stale_writer` (409) for another's, `branch_held` (409) while another run waits on
    the branch.
    """
    place = Place(session_id=session_id, run_id=run_id, fence=fence, branch=branch)

    def work(verb: Verb) -> list[Item]:
        line = _line(who, place, waiting=True)
        return _add(verb, who, line, items)

    return perform(who.tenant_id, work, once=once)


def pop_item(*, who: Principal, place: Place, once: Once | None = None) -> Item | None:
    """Take the newest item back; None when there is none. Nobody else takes the same.

    Raises what `append_items` does, `pause_open` (409) while its run waits, and
    `critical_item` (409), with what would be `lost`: the call of a request that waits,
    or the item that a fact on which authority rests refers to.
    """

    def work(verb: Verb) -> Item | None:
        line = _line(who, place)
        _require_no_pause(line)
        newest = items_on(line.session.id, line.branch).order_by("-position")[:1]
        for item in open_items(list(newest), session_id=line.session.id):
            with _nothing_critical_lost(line):
                _remove(verb, who, line, Removal.Kind.POP, [item.position])
            return item
        return None

    return perform(who.tenant_id, work, once=once)


def clear_items(
    *, who: Principal, place: Place, reason: str = "", once: Once | None = None
) -> Removal | None:
    """Take all items of a branch back, under one tombstone; None when there are none.

    Raises what `pop_item` does.
    """

    def work(verb: Verb) -> Removal | None:
        line = _line(who, place)
        _require_no_pause(line)
        with _nothing_critical_lost(line):
            return _remove(verb, who, line, Removal.Kind.CLEAR, line.said(), reason)

    return perform(who.tenant_id, work, once=once)


def replace_items(
    *,
    who: Principal,
    place: Place,
    items: Sequence[str],
    expected_last: int | None = None,
    reason: str = "",
    once: Once | None = None,
) -> list[Item]:
    """Say all of a branch anew, in one step: what compaction of a history needs.

    Raises what `pop_item` does, and `items_changed` (409) unless the newest item is at
    `expected_last`, where that is given (0: there is none).
    """

    def work(verb: Verb) -> list[Item]:
        line = _line(who, place)
        _require_no_pause(line)
        said = line.said()
        _require_last(said, expected_last)
        with _nothing_critical_lost(line, "/items"):
            _remove(verb, who, line, Removal.Kind.REPLACE, said, reason)
            return _add(verb, who, line, items)

    return perform(who.tenant_id, work, once=once)


def branch_session(
    *,
    who: Principal,
    session_id: UUID,
    origin: int = TRUNK,
    at: int | None = None,
    once: Once | None = None,
) -> Branch:
    """Begin a branch that takes along what `origin` said up to position `at`.

    Raises `not_found` (404) for what does not exist.
    """

    def work(verb: Verb) -> Branch:
        session = lock_own_session(who, session_id)
        return add_branch(verb, session, actor=who.actor, origin=origin, at=at)

    return perform(who.tenant_id, work, once=once)


def _line(who: Principal, place: Place, *, waiting: bool = False) -> _Line:
    session = lock_own_session(who, place.session_id)
    run = _writer(session, place)
    branch = _branch(run, place)
    require_branch(session, branch)
    require_free(session, branch, besides=run, waiting=waiting)
    return _Line(session, branch, run)


def _writer(session: Session, place: Place) -> Run | None:
    if place.run_id is None:
        return None
    runs = locked(Run).filter(tenant_id=session.tenant_id, session_id=session.id)
    run = runs.filter(id=place.run_id).first()
    if run is None:
        raise NOT_FOUND(None, "/run")
    if place.fence is None:
        raise FENCE_REQUIRED("Items of a run carry the fence of its writer.")
    require_writer(run, place.fence)
    return run


def _branch(run: Run | None, place: Place) -> int:
    if run is None:
        return place.branch or TRUNK
    own = run.branch or TRUNK
    if place.branch not in {None, own}:
        raise NOT_FOUND("The run is on another branch.", "/branch")
    return own


def _require_no_pause(line: _Line) -> None:
    """What people are looking at, while they decide, is not rewritten."""
    if line.run is not None and line.run.state in WAITING:
        raise PAUSE_OPEN("Items are removed before a pause or after it.")


@contextmanager
def _nothing_critical_lost(line: _Line, pointer: str | None = None) -> Iterator[None]:
    """Looks before and after: what is refused in between leaves the history as it was."""
    find_lost = hooks.critical(line.session, line.run)
    before = line.items() if find_lost else []
    yield
    lost = find_lost(before, line.items()) if find_lost else []
    if lost:
        detail = f"It must still hold {', '.join(lost)}."
        raise CRITICAL_ITEM(detail, pointer, lost=lost)


def _require_last(said: Sequence[int], expected: int | None) -> None:
    last = said[0] if said else 0
    if expected is not None and expected != last:
        raise ITEMS_CHANGED(f"The newest is at {last}.", "/expected_last", last=last)


def _add(verb: Verb, who: Principal, line: _Line, texts: Sequence[str]) -> list[Item]:
    first = next_position(line.session, line.branch)
    items = [_item(line, place, raw) for place, raw in enumerate(texts, start=first)]
    seal_items(items, session=line.session)
    if items:
        added = Item.objects.bulk_create(items)
        keep_position(line.session, line.branch, added[-1].position)
        about = ("session", line.session.id)
        data = {**_extent(added), "branch": line.branch}
        verb.record("session.items_appended", actor=who.actor, subject=about, data=data)
    return items


def _item(line: _Line, position: int, raw: str) -> Item:
    item = Item(
        tenant_id=line.session.tenant_id,
        session_id=line.session.id,
        run=line.run.id if line.run else None,
        fence=line.run.fence if line.run else None,
        branch=line.branch,
        position=position,
    )
    item.raw = raw
    return item


def _remove(
    verb: Verb,
    who: Principal,
    line: _Line,
    kind: Removal.Kind,
    positions: Sequence[int],
    reason: str = "",
) -> Removal | None:
    """Take back the newest items of a line, at these positions, newest first."""
    if not positions:
        return None
    first, last = positions[-1], positions[0]
    removal = add_removal(
        verb,
        line.session,
        actor=who.actor,
        branch=line.branch,
        kind=kind,
        first=first,
        last=last,
        count=len(positions),
        reason=redacted_text(reason, verb.tenant_id),
    )
    own = Item.objects.filter(session_id=line.session.id, branch=line.branch)
    own.filter(removal=None, position__gte=first).update(removal=removal.number)
    _leave_out(line, first)
    return removal


def _leave_out(line: _Line, first: int) -> None:
    """Items of other branches stay there; this one just does not inherit them."""
    before = inherited(line.session.id, line.branch)
    after = [
        [branch, min(through, first - 1), removals]
        for branch, through, removals in before
    ]
    if after != before:
        take_less(line.session, line.branch, after)


def _extent(added: Sequence[Item]) -> dict[str, object]:
    """Where the items are, and a digest that their ids keep from being guessed."""
    digest = hashlib.sha256()
    for item in added:
        digest.update(item.id.bytes + hashlib.sha256(item.raw.encode()).digest())
    first, last = added[0].position, added[-1].position
    return {"first": first, "last": last, "sha256": digest.hexdigest()}
