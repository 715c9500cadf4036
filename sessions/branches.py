"""Lines of a session's items, for use inside a verb that has locked the session.

A branch takes along what its origin said up to some position, as it stood then: what is
removed on the origin afterwards stays on the branch. One live run at a time is on a
branch; while it waits for people, nobody else adds to it.
"""

from typing import Any, Final

from django.db.models import Max, Q

from audit.append import Actor
from kernel.problems import NOT_FOUND, declare
from kernel.update import update_exactly_one
from sessions.models import Branch, Item, Removal, Run, Session
from sessions.queries import TRUNK, inherited, items_on, require_branch
from sessions.runs import ENDED, WAITING
from tenants.verbs import Verb

BRANCH_HELD: Final = declare(
    "branch_held", status=409, title="Another run is on this branch of the session"
)
TOO_MANY_BRANCHES: Final = declare(
    "too_many_branches", status=409, title="The session has no room for this branch"
)
MOST_BRANCHES: Final = 10_000  # of one session
DEEPEST: Final = 50
"""Lines that a branch may take along: each is one more condition in every reading."""


def add_branch(
    verb: Verb, session: Session, *, actor: Actor, origin: int = TRUNK, at: int | None
) -> Branch:
    """Begin a branch after the origin's position `at`; None: after its newest item.

    Raises `not_found` (404) where the origin, or an item of it there, does not exist;
    `too_many_branches` (409) beyond `DEEPEST` or `MOST_BRANCHES`.
    """
    require_branch(session, origin)
    at = _newest(session, origin) if at is None else _standing(session, origin, at)
    number, along = _last(Branch, session) + 1, _taken_along(session, origin, at)
    if number > MOST_BRANCHES or len(along) > DEEPEST:
        raise TOO_MANY_BRANCHES("Begin it nearer to the trunk, or in another session.")
    branch = Branch.objects.create(
        tenant_id=session.tenant_id,
        session=session,
        number=number,
        origin=origin,
        at=at,
        inherits=along,
    )
    data = {"branch": branch.number, "origin": origin, "at": at}
    about = ("session", session.id)
    verb.record("session.branched", actor=actor, subject=about, data=data)
    return branch


def branch_to_run_on(
    verb: Verb, session: Session, *, actor: Actor, wanted: int | None
) -> int:
    """The branch for a new run: the wanted one, or the trunk, or else one of its own.

    Raises `branch_held` (409) when a live run is on the wanted one, `not_found` (404).
    """
    if wanted is not None:
        require_branch(session, wanted)
        require_free(session, wanted)
        return wanted
    if live_run_on(session, TRUNK) is None:
        return TRUNK
    return add_branch(verb, session, actor=actor, at=None).number


def live_run_on(
    session: Session, branch: int, *, besides: Run | None = None
) -> Run | None:
    """A run that is on the branch and has not ended; it is not `besides`.

    There is one at most, but for runs from before there were branches.
    """
    runs = Run.objects.filter(tenant_id=session.tenant_id, session_id=session.id)
    runs = runs.filter(_on(branch)).exclude(state__in=ENDED)
    if besides is not None:
        runs = runs.exclude(id=besides.id)
    return runs.first()


def require_free(
    session: Session, branch: int, *, besides: Run | None = None, waiting: bool = False
) -> None:
    """Raises `branch_held` (409) while a live run is on the branch.

    It may be `besides`; and where `waiting` is set, one that waits for nobody.
    """
    holder = live_run_on(session, branch, besides=besides)
    if holder is None:
        return
    if waiting and holder.state not in WAITING:
        return
    detail = f"It is {holder.state}. Name it with its fence, or begin a branch."
    raise BRANCH_HELD(detail, run=str(holder.id))


def _on(branch: int) -> Q:
    """What began before there were branches is on the trunk."""
    here = Q(branch=branch)
    return here | Q(branch=None) if branch == TRUNK else here


def next_position(session: Session, branch: int) -> int:
    """Where the next item of the branch goes: no position is ever given twice.

    Also not one whose item is gone; rows from before there was a count still tell theirs.
    """
    own = Item.objects.filter(session_id=session.id, branch=branch)
    last = own.aggregate(last=Max("position"))["last"] or 0
    if branch == TRUNK:
        return max(last, session.last_position) + 1
    rows = Branch.objects.filter(session_id=session.id, number=branch)
    return max(last, *rows.values_list("at", "last_position").get()) + 1


def keep_position(session: Session, branch: int, last: int) -> None:
    """Remember the highest position that was given on a branch of a locked session."""
    if branch == TRUNK:
        rows = Session.objects.filter(id=session.id, last_position__lt=last)
        update_exactly_one(rows, last_position=last)
        session.last_position = last
    else:
        lines = Branch.objects.filter(session_id=session.id, number=branch)
        update_exactly_one(lines.filter(last_position__lt=last), last_position=last)


def add_removal(
    verb: Verb, session: Session, *, actor: Actor, branch: int, **tombstone: Any
) -> Removal:
    """Put a tombstone, which the caller sets upon items. `tombstone` is its fields."""
    removal = Removal.objects.create(
        tenant_id=session.tenant_id,
        session=session,
        number=_last(Removal, session) + 1,
        branch=branch,
        **tombstone,
    )
    data = _told(removal)
    about = ("session", session.id)
    verb.record("session.items_removed", actor=actor, subject=about, data=data)
    return removal


def take_less(session: Session, branch: int, inherits: list[list[int]]) -> None:
    """Let a branch inherit less than it did."""
    rows = Branch.objects.filter(tenant_id=session.tenant_id, session=session)
    update_exactly_one(rows.filter(number=branch), inherits=inherits)


def _told(removal: Removal) -> dict[str, Any]:
    """What the log says of it: no text, since the log is for ever."""
    names = ("number", "branch", "kind", "first", "last", "count")
    return {name: getattr(removal, name) for name in names}


def _taken_along(session: Session, origin: int, at: int) -> list[list[int]]:
    before = [
        [branch, min(through, at), removals]
        for branch, through, removals in inherited(session.id, origin)
    ]
    return [*before, [origin, at, _last(Removal, session)]]


def _newest(session: Session, branch: int) -> int:
    said = items_on(session.id, branch).order_by("-position")
    return said.values_list("position", flat=True).first() or 0


def _standing(session: Session, branch: int, at: int) -> int:
    if at and not items_on(session.id, branch).filter(position=at).exists():
        raise NOT_FOUND(None, "/at")
    return at


def _last(model: type[Branch] | type[Removal], session: Session) -> int:
    rows = model._default_manager.filter(session_id=session.id)
    return rows.aggregate(last=Max("number"))["last"] or 0
