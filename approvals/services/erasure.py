"""Erasing what sessions hold: because it is old, or because a person asks for it.

Erasing is one transaction: the session's key is destroyed, so that items and payloads
are unreadable at once, and the entry that says so is signed. The rows go afterwards, in
bounded steps that may be killed and go on. The audit chain stays whole; that a row is
gone is explained by its entry. Of contents it holds digests, with one exception: the
reason of a revision, of a grant's end and of a dismissed decision stands in it in clear,
for ever (see asking.py, granting.py, ending.py).
"""

from collections.abc import Collection
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from django.db import connection
from django.db.models import Exists, OuterRef, Q

from approvals.services.ending_runs import close_questions
from approvals.services.granting import SYSTEM
from audit.append import Actor
from kernel.clock import ClockTimestamp
from kernel.problems import NOT_FOUND, Problem
from kernel.scope import tenant_transaction
from sessions.contract import Contract
from sessions.holds import LEGAL_HOLD, is_held
from sessions.models import Hold, Retention, Run, Session, Workflow
from sessions.queries import locked
from sessions.runs import ENDED, lock_run, move_run
from tenants.checks import Acting, permitted
from tenants.vault import DATA_ERASED
from tenants.verbs import Gate, Verb, perform

STEP: Final = 2_000
"""Rows of one transaction."""
LEFTOVERS: Final = "7 days"
"""After which answers to idempotency keys, done jobs and sent messages go."""
_NOT_ENDED: Final = Run.objects.filter(session_id=OuterRef("id")).exclude(
    state__in=ENDED
)


def erase_session(
    *, tenant_id: UUID, by: Acting, session_id: UUID, cause: str = "asked"
) -> None:
    """End the session's runs and erase it. Raises `not_found`, `legal_hold` (409),
    `data_erased` (410) if it was before, `effect_in_flight` (409) while what an action
    came to is not known."""

    def work(verb: Verb) -> None:
        actor = permitted(tenant_id, by, while_stopped=True)
        session = locked(Session).filter(tenant_id=tenant_id, id=session_id).first()
        if session is None:
            raise NOT_FOUND()
        if session.erased_at is not None:
            raise DATA_ERASED()
        _end_runs(verb, session, actor)
        _erase(verb, session, actor, cause)

    perform(tenant_id, work)


def erase_subject(*, tenant_id: UUID, by: Acting, subject: str) -> list[UUID]:
    """Erase every session that serves a person; which ones. Repeat it if it stops.

    Raises as `erase_session`, but for what somebody else erases meanwhile; nothing of a
    session under a hold goes, and the others that come before it are erased.
    """
    with tenant_transaction(tenant_id):
        permitted(tenant_id, by, while_stopped=True)
        theirs = Session.objects.filter(tenant_id=tenant_id, subject=subject)
        found = list(theirs.order_by("created_at").values_list("id", flat=True))
        held = [one for one in found if is_held(tenant_id, one)]
    if held:
        raise LEGAL_HOLD(sessions=[str(one) for one in held])
    return [one for one in found if _erased_now(tenant_id, by, one)]


def _erased_now(tenant_id: UUID, by: Acting, session_id: UUID) -> bool:
    """Whether it was this one who erased it."""
    try:
        erase_session(
            tenant_id=tenant_id, by=by, session_id=session_id, cause="subject"
        )
    except Problem as problem:
        if problem.code != DATA_ERASED.code:
            raise
        return False
    return True


def outdated_in(
    tenant_id: UUID, *, but: Collection[UUID] = (), most: int = 100
) -> list[UUID]:
    """Sessions that were kept as long as the tenant keeps them, oldest first.

    Without those in `but`, which were tried already.
    """
    with tenant_transaction(tenant_id):
        return _outdated(tenant_id, but, most)


def let_go(tenant_id: UUID, session_id: UUID) -> bool:
    """Erase a session that was found outdated, and say whether it still was."""
    return perform(tenant_id, lambda verb: _let_go(verb, session_id))


def purge_step(tenant_id: UUID, session_id: UUID, *, most: int = STEP) -> int:
    """Remove up to `most` rows of an erased session; zero when nothing is left."""

    def work(verb: Verb) -> int:
        with connection.cursor() as cursor:
            cursor.execute("SELECT keyturn_purge_session(%s, %s)", [session_id, most])
            (count,) = cursor.fetchone()
        if not count:
            about = ("session", session_id)
            verb.record("session.purged", actor=SYSTEM, subject=about)
        return int(count)

    return perform(tenant_id, work)


def purge_leftovers(tenant_id: UUID, *, most: int = STEP) -> int:
    """Remove old answers to idempotency keys, done jobs, sent messages; how many.

    They are told of on the chain by their number alone.
    """

    def work(verb: Verb) -> int:
        with connection.cursor() as cursor:
            cursor.execute("SELECT keyturn_purge_leftovers(%s, %s)", [LEFTOVERS, most])
            (count,) = cursor.fetchone()
        if count:
            about, data = ("tenant", tenant_id), {"rows": count}
            verb.record(
                "tenant.leftovers_purged", actor=SYSTEM, subject=about, data=data
            )
        return int(count)

    return perform(tenant_id, work, gate=Gate.NONE)


def _end_runs(verb: Verb, session: Session, actor: Actor) -> None:
    live = Run.objects.filter(session=session).exclude(state__in=ENDED)
    for run_id in live.order_by("id").values_list("id", flat=True):
        run = lock_run(run_id)
        close_questions(verb, run)
        move_run(verb, run, Run.State.CANCELLED, actor=actor, reason="Erased.")


def _let_go(verb: Verb, session_id: UUID) -> bool:
    """Unless something happened to it since it was found."""
    session = locked(Session).filter(id=session_id, erased_at=None).first()
    if session is None or is_held(verb.tenant_id, session_id):
        return False
    if Run.objects.filter(session=session).exclude(state__in=ENDED).exists():
        return False
    _erase(verb, session, SYSTEM, "retention")
    return True


def _erase(verb: Verb, session: Session, actor: Actor, cause: str) -> None:
    if is_held(verb.tenant_id, session.id):
        raise LEGAL_HOLD()
    with connection.cursor() as cursor:
        cursor.execute("SELECT keyturn_erase_session(%s)", [session.id])
    about, data = ("session", session.id), {"cause": cause}
    verb.record("session.erased", actor=actor, subject=about, data=data)


def _outdated(tenant_id: UUID, but: Collection[UUID], most: int) -> list[UUID]:
    """Sessions without a live run or a hold whose last run ended long enough ago."""
    days = dict(
        Retention.objects.filter(tenant_id=tenant_id).values_list("kind", "days")
    )
    declared = _declared(tenant_id, days)
    if not days and not declared:
        return []
    held = Hold.objects.filter(lifted_at=None).filter(
        Q(session=OuterRef("id")) | Q(session=None)
    )
    quiet = Session.objects.filter(tenant_id=tenant_id, erased_at=None)
    quiet = quiet.exclude(Exists(_NOT_ENDED)).exclude(Exists(held))
    found = quiet.filter(_old_enough(days, declared)).exclude(id__in=list(but))
    return list(found.order_by("id").values_list("id", flat=True)[:most])


def _declared(tenant_id: UUID, days: dict[str, int]) -> dict[UUID, int]:
    """The terms that workflows name themselves, where the tenant has none for the kind."""
    versions = Workflow.objects.filter(tenant_id=tenant_id).exclude(kind__in=days)
    terms = {one.id: Contract.of(one).retention for one in versions}
    return {id: term for id, term in terms.items() if term is not None}


def _old_enough(days: dict[str, int], declared: dict[UUID, int]) -> Any:
    """Every kind of the session's runs has its term behind it; without runs, the rest."""
    default = days.get("")
    found = Q(pk__in=[])
    if default is not None:
        quiet = ClockTimestamp() - timedelta(days=default)
        found |= ~Exists(_runs()) & Q(created_at__lt=quiet)
    still_kept = Q(pk__in=[])
    for kind, term in days.items():
        if kind:
            still_kept |= Q(workflow__kind=kind) & _young(term)
    for version, term in declared.items():
        still_kept |= Q(workflow_id=version) & _young(term)
    others = ~Q(workflow_id__in=declared) & ~Q(
        workflow__kind__in=[kind for kind in days if kind]
    )
    still_kept |= others & (_young(default) if default is not None else Q())
    return found | (Exists(_runs()) & ~Exists(_runs().filter(still_kept)))


def _runs() -> Any:
    return Run.objects.filter(session_id=OuterRef("id"))


def _young(days: int) -> Q:
    return Q(ended_at__gte=ClockTimestamp() - timedelta(days=days))
